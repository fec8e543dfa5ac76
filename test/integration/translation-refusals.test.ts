import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { actionDefinition, CONTROL_ACTIONS } from '../../src/contract/actions/actions.ts';
import { PROBLEMS, type ProblemCode } from '../../src/contract/problems/problems.ts';
import { REFUSAL_CASES } from '../support/refusal-cases.ts';
import { openPlace, textsOf, writeNamedFiles } from '../support/refusal-place.ts';
import { sharedFixture } from '../support/shared-fixture.ts';
import { startServedTranslation } from '../support/served-translation.ts';

const CASES = Object.entries(REFUSAL_CASES).flatMap(([action, codes]) =>
  Object.entries(codes).map(([code, prepare]) => ({ action, code, prepare, topic: `${action}-${code}` })),
);

const started = sharedFixture(async (atEnd) => {
  const files = Object.fromEntries(CASES.map(({ topic }) => [`${topic}.json`, textsOf(topic)]));
  const daemon = { translation: { review: { fourEyes: true } } };
  const world = await startServedTranslation(files, daemon, atEnd);
  await writeNamedFiles(join(world.system.directory, 'data'));
  return world;
});

/** The answer of the server when the daemon refuses an action with a code. */
function expectedOf(code: string): object {
  if (code === 'accepted') return { status: 202, body: { accepted: true } };
  const { status } = PROBLEMS[code as ProblemCode];
  const daemon = { status, code };
  return status === 400
    ? { status, body: { code, daemon } }
    : { status: 502, body: { code: 'daemon_rejected', daemon } };
}

describe('every action of translation with each of its errors', () => {
  it('has a case for each error of the contract, and only for those', () => {
    const actions = CONTROL_ACTIONS.filter((action) => action.startsWith('translation-'));
    const declared = actions.flatMap((action) =>
      ['accepted', ...actionDefinition(action).errors].map((code) => `${action} ${code}`),
    );
    expect(CASES.map(({ action, code }) => `${action} ${code}`).sort()).toEqual(declared.sort());
  });

  it.each(CASES)('$action: $code', async ({ action, code, prepare, topic }) => {
    const world = started();
    const body = await prepare(await openPlace(world, topic));
    expect(await world.post(action, body)).toMatchObject(expectedOf(code));
  });
});
