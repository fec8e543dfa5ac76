import { REVIEW_STATUSES } from '../../domain/glossary/term.ts';
import { UNIT_STATES } from '../../domain/translation/unit-state.ts';
import type { z } from 'zod';
import { actionDefinition, AUDIT_FIELDS, CONTROL_ACTIONS, type ControlAction } from '../actions/actions.ts';
import type { ActionDefinition } from '../actions/action-definition.ts';
import type { JobScope } from '../actions/control-scopes.ts';
import { fieldsOfPairs } from '../actions/field-schemas.ts';
import { renderJsonSchema, renderParameterSchema, type JsonSchema } from '../json/json-schema.ts';
import type { OperationDefinition } from '../operations/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../operations/operations-admin.ts';
import { SERVICE_STATES, type ServiceStateName } from '../../domain/service-state/service-state.ts';
import { RUNBOOK_BASE } from '../problems/problem-links.ts';
import { DAEMON_PROBLEMS } from '../problems/daemon-problems.ts';
import { PROBLEMS, type ProblemCode } from '../problems/problems.ts';
import { ADVISED_CHECKS } from '../../domain/service-state/advised-checks.ts';
import { ControlBodySchema, type ControlField } from '../actions/control-body.ts';
import {
  MEMORY_STATES,
  PARSE_STATUSES,
  TRANSLATION_STATUSES,
  WORKER_STATUSES,
} from '../schemas/vocabulary.ts';
import { SCHEDULABLE_JOBS } from './schedulable-jobs.ts';

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
  /** The values of fields that lists can be filtered by, in the order of the work. */
  readonly vocabulary: typeof VOCABULARY;
  /** The meaning of each problem code of the daemon: of its refusals, and of tasks that failed. */
  readonly problems: Readonly<Record<string, string>>;
  /** The meaning of each state of the service for clients. */
  readonly states: Readonly<Record<ServiceStateName, string>>;
  /** The checks of the doctor that an advice names, by the text that it begins with. */
  readonly checks: typeof ADVISED_CHECKS;
  /** Where the runbooks are; the one of a reason is `REASON.md` below it. */
  readonly runbooks: string;
}

/** The part of the contract that every page needs before it can be shown: names and places, and no form. */
export interface ConsoleOutline extends Omit<ConsoleContract, 'actions' | 'reports' | 'jobs' | 'problems'> {
  readonly actions: Readonly<Record<string, Omit<ConsoleAction, 'schema' | 'pairs'>>>;
  readonly reports: ReadonlyArray<Omit<ConsoleReport, 'summary' | 'schema'>>;
  readonly jobs: Readonly<Record<string, Omit<ConsoleJob, 'schema'>>>;
}

const VOCABULARY = {
  translation_status: TRANSLATION_STATUSES,
  unit_state: UNIT_STATES,
  worker_status: WORKER_STATUSES,
  parse_status: PARSE_STATUSES,
  term_state: REVIEW_STATUSES,
  memory_state: MEMORY_STATES,
} as const;

/** Members of a schema that a form uses. The server checks all others. */
const OF_FORMS = [
  'type',
  'title',
  'description',
  'enum',
  'minimum',
  'maximum',
  'required',
  'x-kind',
  'x-clears',
] as const;

/** Codes of the service that its daemon also uses. */
const SHARED_CODES = [
  'invalid_request',
  'unknown_task',
  'unknown_action',
  'internal_error',
  'not_implemented',
  'backend_unavailable',
] as const satisfies readonly ProblemCode[];

/** Members of a schema that an action may say otherwise than the control body. */
const NARROWED = ['enum', 'title', 'description', 'minimum', 'maximum'] as const;

/**
 * Renders the contract for the page, so that no form and no explanation is written twice.
 *
 * @param runbooks address of the folder of the runbooks, with a slash at its end
 */
export function renderConsoleContract(runbooks = RUNBOOK_BASE): ConsoleContract {
  const { properties } = renderJsonSchema(ControlBodySchema) as {
    readonly properties: Readonly<Record<ControlField, JsonSchema>>;
  };
  return {
    actions: Object.fromEntries(CONTROL_ACTIONS.map((action) => [action, renderAction(action, properties)])),
    reports: Object.values<OperationDefinition>(ADMIN_OPERATIONS).flatMap(renderReport),
    jobs: Object.fromEntries(
      Object.entries(SCHEDULABLE_JOBS).map(([kind, { title, scope, groups, arguments: fields }]) => [
        kind,
        { title, scope, groups, schema: renderFields(fields) },
      ]),
    ),
    problems: mapValues(
      { ...DAEMON_PROBLEMS, ...pick(PROBLEMS, SHARED_CODES) },
      ({ description }) => description,
    ),
    vocabulary: VOCABULARY,
    states: SERVICE_STATES,
    checks: ADVISED_CHECKS,
    runbooks,
  };
}

/** The outline of a contract. It is small, so that the first view need not wait for the forms. */
export function outlineOf(contract: ConsoleContract): ConsoleOutline {
  const { actions, reports, jobs, problems: _problems, ...rest } = contract;
  return {
    ...rest,
    actions: mapValues(actions, ({ schema: _schema, pairs: _pairs, ...action }) => action),
    reports: reports.map(({ report, path }) => ({ report, path })),
    jobs: mapValues(jobs, ({ schema: _schema, ...job }) => job),
  };
}

function mapValues<From, To>(
  record: Readonly<Record<string, From>>,
  change: (value: From) => To,
): Readonly<Record<string, To>> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}

function renderAction(
  action: ControlAction,
  properties: Readonly<Record<ControlField, JsonSchema>>,
): ConsoleAction {
  const {
    required,
    used,
    errors: _errors,
    reviewFields: _scope,
    fields = {},
    ...rest
  } = actionDefinition(action);
  const names = new Set<ControlField>([...required, ...used]);
  // Last, wherever the action lists them, because they are about the call and not about its effect.
  for (const field of AUDIT_FIELDS) {
    names.delete(field);
    names.add(field);
  }
  const pairs = fields.args === undefined ? null : fieldsOfPairs(fields.args);
  return {
    ...rest,
    pairs: pairs === null ? null : renderFields(pairs),
    schema: {
      required,
      properties: Object.fromEntries(
        [...names].map((field) => [field, formSchema(narrowed(properties[field], fields[field]))]),
      ),
    },
  };
}

/** The schema of a field with the words and bounds that one action gives it. */
function narrowed(wide: JsonSchema, narrow: z.ZodType | undefined): JsonSchema {
  if (narrow === undefined) return wide;
  return { ...wide, ...pick(renderJsonSchema(narrow), NARROWED) };
}

function formSchema(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema as {
    readonly properties?: Readonly<Record<string, JsonSchema>>;
    readonly items?: JsonSchema;
  };
  return {
    ...pick(schema, OF_FORMS),
    ...(properties === undefined ? {} : { properties: mapValues(properties, formSchema) }),
    ...(items === undefined ? {} : { items: pick(items, ['type']) }),
  };
}

/** The members of a record that have some of the names. */
function pick<Value>(
  record: Readonly<Record<string, Value>>,
  names: readonly string[],
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    names.flatMap((name) => (record[name] === undefined ? [] : [[name, record[name]]])),
  );
}

function renderFields(fields: z.ZodObject): FieldsSchema {
  const { properties, required } = renderJsonSchema(fields) as unknown as FieldsSchema;
  return { required: required ?? [], properties: mapValues(properties, formSchema) };
}

function renderReport({ daemon, path, summary, query }: OperationDefinition): ConsoleReport[] {
  if (daemon === undefined || !('report' in daemon)) return [];
  const parameters = Object.entries(query.shape);
  return [
    {
      report: daemon.report,
      path,
      summary,
      schema: {
        required: parameters
          .filter(([, schema]) => !schema.safeParse(undefined).success)
          .map(([name]) => name),
        properties: Object.fromEntries(
          parameters.map(([name, schema]) => [name, formSchema(renderParameterSchema(schema))]),
        ),
      },
    },
  ];
}
