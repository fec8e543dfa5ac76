import { describe, expect, it } from 'vitest';
import { parseJsonExact } from '../../src/contract/json/json-exact.ts';
import type { AnswerDefinition } from '../../src/contract/operations/operation-definition.ts';
import { listOperations, OPERATIONS } from '../../src/contract/operations/operations.ts';
import { ProblemSchema } from '../../src/contract/problems/problem-schema.ts';
import {
  STATUS_CASES,
  STATUS_WORLDS,
  TASK_PLACEHOLDER,
  type StatusCase,
  type StatusWorld,
} from '../support/operation-status-cases.ts';
import { startWorld, type RunningWorld } from '../support/status-worlds.ts';

/** Number of concurrent cases. The proxy answers 503 beyond 64. */
const AT_ONCE = 16;

/** Sends one request; returns the differences from the declaration. */
async function tryCase(world: RunningWorld, each: StatusCase): Promise<string[]> {
  const name = `${each.operation} ${each.status} ${each.how}`.trim();
  const response = await fetch(`${world.url}${each.target.replace(TASK_PLACEHOLDER, world.taskId)}`, {
    method: each.method,
    headers: { ...(each.token ? { authorization: `Bearer ${world.token}` } : {}), ...each.headers },
    body: each.body,
    // The status belongs to this request, not to the target of a redirect.
    redirect: 'manual',
  });
  const body = Buffer.from(await response.arrayBuffer());
  if (response.status !== each.status)
    return [`${name}: got ${response.status} ${body.toString().slice(0, 300)}`];
  const operation: { readonly answers: Readonly<Record<number, AnswerDefinition>> } =
    OPERATIONS[each.operation];
  const declared = operation.answers[each.status];
  if (declared === undefined) return [`${name}: the status is not declared`];
  return problemsOf(declared, each, response.headers, body).map((problem) => `${name}: ${problem}`);
}

/** Checks an answer against the declaration of its operation, from which the OpenAPI document is generated. */
function problemsOf(declared: AnswerDefinition, each: StatusCase, headers: Headers, body: Buffer): string[] {
  const type = headers.get('content-type') ?? '';
  switch (declared.kind) {
    case 'empty':
      return body.length === 0 ? [] : ['has a body'];
    case 'content': {
      const isResource = each.operation === 'getResource';
      const typed = isResource ? type !== '' : type.startsWith(declared.mediaType);
      return [...(typed ? [] : [`is of type "${type}"`]), ...(body.length > 0 ? [] : ['has no body'])];
    }
    case 'json': {
      const parsed = declared.answer.schema.safeParse(parseJsonExact(body.toString('utf8')));
      const typed = /^application\/json(?:;|$)/.test(type);
      return [...(typed ? [] : [`is of type "${type}"`]), ...(parsed.success ? [] : [parsed.error.message])];
    }
    case 'problem': {
      const parsed = ProblemSchema.safeParse(parseJsonExact(body.toString('utf8')));
      if (!parsed.success) return [parsed.error.message];
      const { code, status } = parsed.data;
      return [
        ...(type === 'application/problem+json' ? [] : [`is of type "${type}"`]),
        ...(status === each.status ? [] : [`says ${status}`]),
        ...(declared.codes.some((known) => known === code) ? [] : [`has the undeclared code ${code}`]),
      ];
    }
  }
}

describe('every operation with each of its statuses', () => {
  it('has a case for each declared status, and only for those', () => {
    const declared = listOperations().flatMap(({ id, answers }) =>
      Object.keys(answers).map((status) => `${id} ${status}`),
    );
    const tried = new Set(STATUS_CASES.map(({ operation, status }) => `${operation} ${status}`));
    expect([...tried].sort()).toEqual(declared.sort());
  });

  it.each(Object.keys(STATUS_WORLDS) as StatusWorld[])('%s', async (name) => {
    const cases = STATUS_CASES.filter(({ world }) => world === name);
    expect(cases.length).toBeGreaterThan(0);
    const world = await startWorld(name);
    const problems: string[] = [];
    for (let at = 0; at < cases.length; at += AT_ONCE) {
      const found = await Promise.all(
        cases.slice(at, at + AT_ONCE).map(async (each) => await tryCase(world, each)),
      );
      problems.push(...found.flat());
    }
    expect(problems).toEqual([]);
  });
});
