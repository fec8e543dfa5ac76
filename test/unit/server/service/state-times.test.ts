import { expect, it } from 'vitest';
import { HealthAnswer } from '../../../../src/contract/schemas/answers/health.ts';
import { decideServiceState } from '../../../../src/domain/service-state/decide-service-state.ts';
import type { DaemonCondition } from '../../../../src/domain/service-state/daemon-conditions.ts';
import type { ServiceAnswer } from '../../../../src/domain/service-state/service-state.ts';
import { createStateTimes } from '../../../../src/server/service/state-times.ts';
import { factsOfVerdicts } from '../../../support/service-answer.ts';

/** The verdicts are since 1000 (official) and 2000 (localized). */
function answer(...conditions: readonly DaemonCondition[]): ServiceAnswer {
  const { official, localized } = structuredClone(HealthAnswer.example.verdicts);
  official.since = 1000;
  localized.since = 2000;
  return decideServiceState(factsOfVerdicts({ official, localized }, { conditions }));
}

function told(code: DaemonCondition['code'], since: number | null): DaemonCondition {
  return { code, message: code, since, next_try: null };
}

it('tells since when state and reason are as they are, not since when the release is served', () => {
  const note = createStateTimes();
  const since = (now: number, ...conditions: readonly DaemonCondition[]): number =>
    note(answer(...conditions), now).since;
  // The first look knows no change before it.
  expect(since(5000)).toBe(1000);
  expect(since(5001)).toBe(1000);
  // The cause began after the last look, so its time is the time of the change.
  expect(since(5010, told('volume_full', 5005))).toBe(5005);
  expect(since(5011, told('volume_full', 5006))).toBe(5005);
  // A cause that lasts longer, but was not the first one before.
  expect(since(5020, told('sync_failed', 400))).toBe(5020);
  // Healthy again, of the same verdict.
  expect(since(5030)).toBe(5030);
  expect(since(5031)).toBe(5030);
  // A cause of the future, of a clock that is ahead.
  expect(since(5040, told('volume_full', 9000))).toBe(5040);
});

it('tells the times of the channels apart from those of the service', () => {
  const note = createStateTimes();
  note(answer(), 5000);
  const { since, channels } = note(answer({ ...told('volume_full', null), channel: 'localized' }), 5010);
  expect([since, channels.official.since, channels.localized.since]).toEqual([1000, 1000, 2000]);
});
