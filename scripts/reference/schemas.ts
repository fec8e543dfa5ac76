import { renderActionSchema } from '../../src/contract/actions/action-schema.ts';
import { CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { EnvelopeSchema, StatementSchema } from '../../src/contract/formats/attestation-format.ts';
import { DamageAcceptedAnswer, DamageReportsSchema } from '../../src/contract/formats/damage-report.ts';
import { renderJsonSchema, type JsonSchema } from '../../src/contract/json/json-schema.ts';
import { ProblemSchema } from '../../src/contract/problems/problem-schema.ts';
import { REPORTS } from '../../src/contract/reports/reports.ts';
import { AcceptedAnswer } from '../../src/contract/schemas/answers/admin.ts';
import {
  DaemonHealthAnswer,
  DaemonReadinessAnswer,
} from '../../src/contract/schemas/answers/daemon-health.ts';
import { ControlBodySchema } from '../../src/contract/actions/control-body.ts';

/** The JSON Schemas of the loopback protocol, by path below docs/reference. */
export function renderSchemas(): Array<[string, string]> {
  const single: Record<string, JsonSchema> = {
    accepted: renderJsonSchema(AcceptedAnswer.schema),
    'attestation-envelope': renderJsonSchema(EnvelopeSchema),
    'attestation-statement': renderJsonSchema(StatementSchema),
    'control-body': renderJsonSchema(ControlBodySchema),
    'damage-accepted': renderJsonSchema(DamageAcceptedAnswer.schema),
    'damage-reports': renderJsonSchema(DamageReportsSchema),
    'daemon-health': renderJsonSchema(DaemonHealthAnswer.schema),
    'daemon-readiness': renderJsonSchema(DaemonReadinessAnswer.schema),
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
