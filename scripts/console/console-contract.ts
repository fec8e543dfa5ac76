import type { z } from 'zod';
import { ADVISED_CHECKS } from '../../src/domain/service-state/advised-checks.ts';
import { SERVICE_STATES } from '../../src/domain/service-state/service-state.ts';
import {
  actionDefinition,
  AUDIT_FIELDS,
  CONTROL_ACTIONS,
  type ControlAction,
} from '../../src/contract/actions/actions.ts';
import { ControlBodySchema, type ControlField } from '../../src/contract/actions/control-body.ts';
import { fieldsOfPairs } from '../../src/contract/actions/field-schemas.ts';
import {
  VOCABULARY,
  type ConsoleAction,
  type ConsoleContract,
  type ConsoleForms,
  type ConsoleOutline,
  type ConsoleReport,
  type FieldsSchema,
} from '../../src/contract/console/console-contract.ts';
import {
  renderJsonSchema,
  renderParameterSchema,
  type JsonSchema,
} from '../../src/contract/json/json-schema.ts';
import type { OperationDefinition } from '../../src/contract/operations/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../../src/contract/operations/operations-admin.ts';
import { DAEMON_PROBLEMS } from '../../src/contract/problems/daemon-problems.ts';
import { RUNBOOK_BASE } from '../../src/contract/problems/problem-links.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems/problems.ts';
import { SCHEDULABLE_JOBS } from './schedulable-jobs.ts';

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

/** Renders the contract for the page, so that no form and no explanation is written twice. A server puts its own `runbooks` into it. */
export function renderConsoleContract(): ConsoleContract {
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
    runbooks: RUNBOOK_BASE,
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

/** What an outline lacks. */
export function formsOf({ actions, reports, jobs, problems }: ConsoleContract): ConsoleForms {
  return {
    actions: mapValues(actions, ({ schema, pairs }) => ({ schema, pairs })),
    reports: Object.fromEntries(reports.map(({ report, summary, schema }) => [report, { summary, schema }])),
    jobs: mapValues(jobs, ({ schema }) => ({ schema })),
    problems,
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
