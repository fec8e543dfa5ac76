import { renderActionSchema } from './action-schema.ts';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { EnvelopeSchema, StatementSchema } from '../../src/contract/formats/attestation-format.ts';
import { DamageReportsSchema } from '../../src/contract/formats/damage-report.ts';
import { renderJsonSchema, type JsonSchema } from '../../src/contract/json/json-schema.ts';
import { ProblemSchema } from '../../src/contract/problems/problem-schema.ts';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import { DaemonHealthSchema, DaemonReadinessSchema, DamageAcceptedSchema } from './daemon-answers.ts';
import { ControlBodySchema } from '../../src/contract/actions/control-body.ts';

/** The JSON Schemas of the loopback protocol, by path below docs/reference. */
export function renderSchemas(): Array<[string, string]> {
  const single: Record<string, JsonSchema> = {
    accepted: renderJsonSchema(AcceptedAnswer.schema),
    'attestation-envelope': renderJsonSchema(EnvelopeSchema),
    'attestation-statement': renderJsonSchema(StatementSchema),
    'control-body': renderJsonSchema(ControlBodySchema),
    'damage-accepted': renderJsonSchema(DamageAcceptedSchema),
    'damage-reports': renderJsonSchema(DamageReportsSchema),
    'daemon-health': renderJsonSchema(DaemonHealthSchema),
    'daemon-readiness': renderJsonSchema(DaemonReadinessSchema),
    problem: renderJsonSchema(ProblemSchema),
  };
  return [
    ...Object.entries(single).map(([name, schema]) => file(`schemas/${name}.json`, schema)),
    ...Object.entries(REPORTS).map(([name, { answer }]) =>
      file(`schemas/reports/${name}.json`, renderJsonSchema(answer.schema)),
    ),
    ...CONTROL_ACTIONS.map((action) =>
      file(`schemas/actions/${action}.json`, renderActionSchema(action, '../control-body.json')),
    ),
  ];
}

function file(path: string, schema: JsonSchema): [string, string] {
  return [path, JSON.stringify(schema, null, 2)];
}
