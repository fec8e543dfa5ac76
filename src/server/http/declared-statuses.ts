import type { OperationDefinition } from '../../contract/operations/operation-definition.ts';

const UNEXPECTED_STATUS = 500;

/** The statuses that an operation can answer with. */
export function statusesOf(answers: OperationDefinition['answers']): readonly number[] {
  return [...Object.keys(answers).map(Number), UNEXPECTED_STATUS];
}
