import { actionDefinition, AUDIT_FIELDS, CONTROL_ACTIONS } from '../actions/actions.ts';
import type { ActionDefinition } from '../actions/action-definition.ts';
import { renderJsonSchema, renderParameterSchema, type JsonSchema } from '../json/json-schema.ts';
import type { OperationDefinition } from '../operations/operation-definition.ts';
import { ADMIN_OPERATIONS } from '../operations/operations-admin.ts';
import { PROBLEMS } from '../problems/problems.ts';
import { CONTROL_SWITCHES, ControlBodySchema, type ControlField } from '../actions/control-body.ts';

/** One control action as the console's forms need it. */
export interface ConsoleAction extends Pick<
  ActionDefinition,
  'summary' | 'mode' | 'destructive' | 'choices'
> {
  /** JSON Schema of the fields that the action requires or uses, with `reviewer` and `reason` last. */
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
  /** The meaning of each problem code. */
  readonly problems: Readonly<Record<string, string>>;
  /** Fields for which only `true` has a meaning. */
  readonly switches: readonly string[];
}

/** Renders the contract for the page, so that no form and no explanation is written twice. */
export function renderConsoleContract(): ConsoleContract {
  const { properties } = renderJsonSchema(ControlBodySchema) as {
    readonly properties: Readonly<Record<ControlField, JsonSchema>>;
  };
  return {
    actions: Object.fromEntries(
      CONTROL_ACTIONS.map((action) => {
        const { summary, mode, destructive, choices, required, used } = actionDefinition(action);
        const fields = new Set<ControlField>([...required, ...used]);
        // Last, wherever the action lists them, because they are about the call and not about its effect.
        for (const field of AUDIT_FIELDS) {
          fields.delete(field);
          fields.add(field);
        }
        return [
          action,
          {
            summary,
            mode,
            destructive,
            choices,
            schema: {
              required,
              properties: Object.fromEntries([...fields].map((field) => [field, properties[field]])),
            },
          },
        ];
      }),
    ),
    reports: Object.values<OperationDefinition>(ADMIN_OPERATIONS).flatMap(renderReport),
    problems: Object.fromEntries(
      Object.entries(PROBLEMS).map(([code, { description }]) => [code, description]),
    ),
    switches: ['force', ...CONTROL_SWITCHES],
  };
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
          parameters.map(([name, schema]) => [name, renderParameterSchema(schema)]),
        ),
      },
    },
  ];
}
