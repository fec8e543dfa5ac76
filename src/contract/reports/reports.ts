import type { z } from 'zod';
import {
  DoctorReport,
  LogsReport,
  TaskListReport,
  TaskLogsReport,
  TaskStatusReport,
} from './report-daemon.ts';
import { GlossaryDiagnoseReport, GlossaryQueryReport, GlossarySummaryReport } from './report-glossary.ts';
import { MemoryConflictsReport, MemoryQueryReport, MemorySummaryReport } from './report-memory.ts';
import { ParseErrorsReport, ParseStatusReport, TextUnitsReport } from './report-parse.ts';
import { ReleaseListReport, ReleaseStatusReport } from './report-releases.ts';
import { ScheduleListReport } from './report-schedules.ts';
import {
  TranslationHandoffReport,
  TranslationStatusReport,
  TranslationTasksReport,
} from './report-translation.ts';
import {
  AdminReleasesQuery,
  GlossaryDiagnoseQuery,
  GlossaryQuery,
  GlossarySummaryQuery,
  LogsQuery,
  MemoryConflictsQuery,
  MemoryQuery,
  MemorySummaryQuery,
  NoQuery,
  ParseErrorsQuery,
  SchedulesQuery,
  TaskQuery,
  TextUnitsQuery,
  TranslationTasksQuery,
  type QuerySchema,
} from '../schemas/query.ts';

/** The daemon backends that a report can be unavailable because of. */
type BackendName =
  | 'diagnostics'
  | 'log'
  | 'task'
  | 'parse'
  | 'schedule'
  | 'translation'
  | 'Translation Memory'
  | 'Glossary'
  | 'localized'
  | 'release';

interface ReportDefinition {
  readonly backend: BackendName;
  readonly query: QuerySchema;
  /** `schema` is the whole answer, `body` what the handler makes, without the envelope. */
  readonly answer: { readonly schema: z.ZodObject; readonly body: z.ZodObject };
}

/** Every report of the loopback protocol: `GET /v1/reports/{report}`. */
export const REPORTS = {
  'daemon.doctor': { backend: 'diagnostics', query: NoQuery, answer: DoctorReport },
  'daemon.logs': { backend: 'log', query: LogsQuery, answer: LogsReport },
  'task.list': { backend: 'task', query: NoQuery, answer: TaskListReport },
  'task.status': { backend: 'task', query: TaskQuery, answer: TaskStatusReport },
  'task.logs': { backend: 'task', query: TaskQuery, answer: TaskLogsReport },
  'parse.status': { backend: 'parse', query: NoQuery, answer: ParseStatusReport },
  'parse.text_units': { backend: 'parse', query: TextUnitsQuery, answer: TextUnitsReport },
  'parse.errors': { backend: 'parse', query: ParseErrorsQuery, answer: ParseErrorsReport },
  'schedule.list': { backend: 'schedule', query: SchedulesQuery, answer: ScheduleListReport },
  'translation.tasks': {
    backend: 'translation',
    query: TranslationTasksQuery,
    answer: TranslationTasksReport,
  },
  'translation.handoff': { backend: 'translation', query: NoQuery, answer: TranslationHandoffReport },
  'translation.memory.summary': {
    backend: 'Translation Memory',
    query: MemorySummaryQuery,
    answer: MemorySummaryReport,
  },
  'translation.memory.query': {
    backend: 'Translation Memory',
    query: MemoryQuery,
    answer: MemoryQueryReport,
  },
  'translation.memory.conflicts': {
    backend: 'Translation Memory',
    query: MemoryConflictsQuery,
    answer: MemoryConflictsReport,
  },
  'translation.glossary.summary': {
    backend: 'Glossary',
    query: GlossarySummaryQuery,
    answer: GlossarySummaryReport,
  },
  'translation.glossary.query': { backend: 'Glossary', query: GlossaryQuery, answer: GlossaryQueryReport },
  'translation.glossary.diagnose': {
    backend: 'Glossary',
    query: GlossaryDiagnoseQuery,
    answer: GlossaryDiagnoseReport,
  },
  'translation.status': { backend: 'localized', query: NoQuery, answer: TranslationStatusReport },
  'release.status': { backend: 'release', query: NoQuery, answer: ReleaseStatusReport },
  'release.list': { backend: 'release', query: AdminReleasesQuery, answer: ReleaseListReport },
} as const satisfies Record<string, ReportDefinition>;

export type ReportName = keyof typeof REPORTS;

export type QueryOf<N extends ReportName> = DeepReadonly<z.output<(typeof REPORTS)[N]['query']>>;

/** The answer of a report without the envelope: what its handler makes. */
export type ReportBodyOf<N extends ReportName> = DeepReadonly<
  z.output<(typeof REPORTS)[N]['answer']['body']>
>;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/** Whether untrusted text names a report. */
export function isReportName(text: string): text is ReportName {
  return Object.hasOwn(REPORTS, text);
}
