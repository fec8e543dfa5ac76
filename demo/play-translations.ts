import type { DevIo } from './dev-options.ts';
import { randomUUID } from 'node:crypto';
import type { ControlAction } from '../src/contract/actions/actions.ts';
import { stringifyJsonExact } from '../src/contract/json/json-exact.ts';
import { REPORTS, type ReportBodyOf, type ReportName } from '../src/contract/reports/reports.ts';
import { unixSeconds } from '../src/platform/process/clock.ts';
import { createAdminApi } from '../src/cli/ctl/admin-api.ts';
import { reportPath } from '../src/cli/ctl/reports.ts';
import {
  DEMO_BLOCKED,
  DEMO_CONFLICT,
  DEMO_PEOPLE,
  DEMO_TERMS,
  DEMO_WORK,
  type DemoTerm,
  type DemoWork,
} from './game/demo-work.ts';
import { FILE_PROVIDER } from '../src/contract/actions/provider-names.ts';
import { translateDemoLine } from './game/translate-line.ts';
import type { RunningService } from './play-release.ts';

type Unit = ReportBodyOf<'parse.text_units'>['items'][number];

interface Desk {
  read<Name extends ReportName>(
    report: Name,
    query: Readonly<Record<string, string>>,
  ): Promise<ReportBodyOf<Name>>;
  run(action: ControlAction, body: object): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 60_000;
const POLL_MS = 250;
const PLACEHOLDER = /\{[^}]*\}|%[ds]/;

/**
 * Does the work of translators and a reviewer on the served release, through the admin surface: terms, drafts, translated and
 * accepted targets, a blocked unit, and a conflict of the Translation Memory. The next release shows what is carried over.
 *
 * @param releaseId the served release; the call waits until its tasks are built
 * @throws CtlFailure with the problem of the call that failed; the signal's reason
 */
export async function playTranslations(service: RunningService, releaseId: string, io: DevIo): Promise<void> {
  const desk = openDesk(service, io);
  await waitForTasks(desk, releaseId, io);
  for (const term of DEMO_TERMS) await addTerm(desk, term, unixSeconds(io.clock));
  for (const work of DEMO_WORK) await translate(desk, work);
  await leaveBlocked(desk);
  await leaveConflict(desk);
}

function openDesk({ serverUrl, adminToken }: RunningService, { signal, clock }: DevIo): Desk {
  const api = createAdminApi({
    url: new URL(serverUrl),
    token: adminToken,
    timeoutMs: REQUEST_TIMEOUT_MS,
    signal,
    clock,
  });
  return {
    read: async (report, query) => {
      const { value } = await api.get(reportPath(report), query);
      return REPORTS[report].answer.schema.parse(value) as ReportBodyOf<typeof report>;
    },
    run: async (action, body) => {
      await api.post(action, stringifyJsonExact(body), randomUUID());
    },
  };
}

/** The daemon builds the tasks of a release after it has indexed the text. */
async function waitForTasks(desk: Desk, releaseId: string, { clock, signal }: DevIo): Promise<void> {
  for (;;) {
    const { items } = await desk.read('translation.tasks', { limit: '1', destination: DEMO_CONFLICT });
    if (items[0]?.release_id === releaseId) return;
    await clock.sleep(POLL_MS, signal);
  }
}

async function addTerm(desk: Desk, term: DemoTerm, now: number): Promise<void> {
  await desk.run('translation-glossary-add', {
    ...term,
    source_language: 'ja',
    target_language: 'zh-Hans',
    source: { source_kind: 'manual', observed_unix_seconds: now },
    review_status: 'approved',
    reviewer: DEMO_PEOPLE.reviewer,
  });
}

async function translate(desk: Desk, { destination, units, result }: DemoWork): Promise<void> {
  const all = await unitsOf(desk, destination);
  const taskId = await taskOf(desk, all[0]?.destination ?? destination);
  await send(desk, taskId, all.slice(0, units), result === 'drafts' ? 'in_progress' : 'translated');
  if (result === 'accepted') await accept(desk, taskId);
}

async function leaveBlocked(desk: Desk): Promise<void> {
  const units = await unitsOf(desk, DEMO_BLOCKED);
  const damaged = units.find(({ source_text: source }) => PLACEHOLDER.test(source));
  if (damaged === undefined) throw new Error(`no line of ${DEMO_BLOCKED} has a placeholder`);
  const target = targetOf(damaged).replace(PLACEHOLDER, '');
  await send(desk, await taskOf(desk, DEMO_BLOCKED), [damaged], 'in_progress', {
    translationOf: () => target,
  });
}

/** Accepts one translation of a unit, then another one, and keeps both. */
async function leaveConflict(desk: Desk): Promise<void> {
  const [unit] = await unitsOf(desk, DEMO_CONFLICT);
  if (unit === undefined) throw new Error(`${DEMO_CONFLICT} has no text`);
  const taskId = await taskOf(desk, DEMO_CONFLICT);
  const first = targetOf(unit);
  for (const target of [first, first.replace(/[。！]/, '～')]) {
    // What comes in a file is a candidate of the Translation Memory at once; what somebody types is one when it is handed in.
    await send(desk, taskId, [unit], 'in_progress', { translationOf: () => target, provider: FILE_PROVIDER });
    const { matches } = await desk.read('translation.memory.query', { source_text: unit.source_text });
    const match = matches.find(({ record }) => record.target_text === target);
    if (match === undefined) throw new Error('the Translation Memory has no record of the translation');
    await desk.run('translation-memory-confirm', {
      record_id: match.record.record_id,
      reviewer: DEMO_PEOPLE.reviewer,
      reason: 'both are right: a lead decides',
      force: target !== first,
    });
  }
}

async function taskOf(desk: Desk, destination: string): Promise<string> {
  const { items } = await desk.read('translation.tasks', { destination });
  const [task] = items;
  if (task === undefined) throw new Error(`no translation task has the text of ${destination}`);
  return task.task_id;
}

async function unitsOf(desk: Desk, destination: string): Promise<readonly Unit[]> {
  const { items } = await desk.read('parse.text_units', { path_pattern: destination, limit: '1000' });
  return items;
}

async function send(
  desk: Desk,
  taskId: string,
  units: readonly Unit[],
  status: 'in_progress' | 'translated',
  {
    translationOf = targetOf,
    ...fields
  }: { readonly translationOf?: (unit: Unit) => string; readonly provider?: typeof FILE_PROVIDER } = {},
): Promise<void> {
  await desk.run('translation-task-update', {
    task_id: taskId,
    status,
    ...fields,
    translation_results: units.map((unit) => ({
      unit_id: unit.unit_id,
      source_text: unit.source_text,
      translated_text: translationOf(unit),
    })),
  });
}

async function accept(desk: Desk, taskId: string): Promise<void> {
  await desk.run('translation-proofread', {
    task_id: taskId,
    status: 'proofread',
    reviewer: DEMO_PEOPLE.reviewer,
  });
}

function targetOf({ source_text: source }: Unit): string {
  const target = translateDemoLine(source);
  if (target === null) throw new Error(`the demo has no translation of "${source}"`);
  return target;
}
