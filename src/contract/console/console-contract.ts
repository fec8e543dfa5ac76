import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import type { ADVISED_CHECKS } from '../../domain/service-state/advised-checks.ts';
import type { ServiceStateName } from '../../domain/service-state/service-state.ts';
import { UNIT_STATES } from '../../domain/translation/unit-state.ts';
import type { ActionDefinition } from '../actions/action-definition.ts';
import type { JobScope } from '../actions/control-scopes.ts';
import type { JsonSchema } from '../json/json-schema.ts';
import {
  MEMORY_STATES,
  PARSE_STATUSES,
  TRANSLATION_STATUSES,
  WORKER_STATUSES,
} from '../schemas/vocabulary.ts';

/** One control action as the console's forms need it. */
export interface ConsoleAction extends Omit<
  ActionDefinition,
  'reviewFields' | 'required' | 'used' | 'fields' | 'errors'
> {
  /** JSON Schema of the fields that the action requires or uses, with `reviewer` and `reason` last. */
  readonly schema: FieldsSchema;
  /** JSON Schema of the keys of `args`; `null` where `args` takes other texts, or is the arguments of a job. */
  readonly pairs: FieldsSchema | null;
}

interface ConsoleJob {
  readonly title: string;
  /** That a token needs to schedule it, run it or cancel it. */
  readonly scope: JobScope;
  readonly groups: readonly string[];
  /** JSON Schema of its arguments. */
  readonly schema: FieldsSchema;
}

/** One admin read as the console's report viewer needs it. */
export interface ConsoleReport {
  readonly report: string;
  readonly path: string;
  readonly summary: string;
  /** JSON Schema of the query. */
  readonly schema: FieldsSchema;
}

/** A JSON Schema of an object with a fixed set of members. */
export interface FieldsSchema {
  readonly required: readonly string[];
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

/** The part of the contract that the page needs. It contains no data of an installation. */
export interface ConsoleContract {
  readonly actions: Readonly<Record<string, ConsoleAction>>;
  readonly reports: readonly ConsoleReport[];
  /** The jobs that schedules can run, by name. */
  readonly jobs: Readonly<Record<string, ConsoleJob>>;
  readonly vocabulary: typeof VOCABULARY;
  /** The meaning of each problem code of the daemon: of its refusals, and of tasks that failed. */
  readonly problems: Readonly<Record<string, string>>;
  /** The meaning of each state of the service for clients. */
  readonly states: Readonly<Record<ServiceStateName, string>>;
  /** The checks of the doctor that an advice names, by the text that it begins with. */
  readonly checks: typeof ADVISED_CHECKS;
  /** Where the runbooks are; the one of a reason is `REASON` below it. */
  readonly runbooks: string;
}

/** The part of the contract that every page needs before it can be shown: names and places, and no form. */
export interface ConsoleOutline extends Omit<ConsoleContract, 'actions' | 'reports' | 'jobs' | 'problems'> {
  readonly actions: Readonly<Record<string, Omit<ConsoleAction, 'schema' | 'pairs'>>>;
  readonly reports: ReadonlyArray<Omit<ConsoleReport, 'summary' | 'schema'>>;
  readonly jobs: Readonly<Record<string, Omit<ConsoleJob, 'schema'>>>;
}

/** The part of the contract that {@link ConsoleOutline} lacks: the forms and the explanations. */
export interface ConsoleForms {
  readonly actions: Readonly<
    Record<string, { readonly schema: FieldsSchema; readonly pairs: FieldsSchema | null }>
  >;
  readonly reports: Readonly<Record<string, { readonly summary: string; readonly schema: FieldsSchema }>>;
  readonly jobs: Readonly<Record<string, { readonly schema: FieldsSchema }>>;
  readonly problems: ConsoleContract['problems'];
}

/** The values of fields that lists can be filtered by, in the order of the work. */
export const VOCABULARY = {
  translation_status: TRANSLATION_STATUSES,
  unit_state: UNIT_STATES,
  worker_status: WORKER_STATUSES,
  parse_status: PARSE_STATUSES,
  term_state: REVIEW_STATUSES,
  memory_state: MEMORY_STATES,
} as const;
