import { type Health } from '../../src/contract/schemas/answers/health.ts';
import type { DaemonCondition } from '../../src/domain/service-state/daemon-conditions.ts';
import { decideServiceState } from '../../src/domain/service-state/decide-service-state.ts';
import type { ServiceFacts } from '../../src/domain/service-state/service-state.ts';
import { releaseIdOf } from './attestations.ts';

/** The facts of a server whose daemon answers and tells no condition, with these verdicts. */
export function factsOfVerdicts(
  verdicts: Health['verdicts'],
  changes: Partial<ServiceFacts> = {},
): ServiceFacts {
  const judged = ({ since, release_id: id, ...verdict }: Health['verdicts']['official']) => ({
    ...verdict,
    since: since * 1000,
    release_id: id === null ? null : releaseIdOf(id),
    checks: [],
  });
  return {
    verdicts: { official: judged(verdicts.official), localized: judged(verdicts.localized) },
    daemon: { failure: null, since: null },
    refresh: { failures: 0, code: null, since: null },
    conditions: [],
    expiresAt: null,
    isStopping: false,
    ...changes,
  };
}

const STALE: DaemonCondition = {
  code: 'localized_stale',
  message: 'it is stale',
  since: null,
  next_try: null,
};

/** The state that a server with these verdicts tells. By default its daemon tells only a stale localized release. */
export function serviceOf(
  verdicts: Health['verdicts'],
  conditions: readonly DaemonCondition[] = verdicts.localized.reason === 'BaseReleaseChanged' ? [STALE] : [],
): Health['service'] {
  return structuredClone(decideServiceState(factsOfVerdicts(verdicts, { conditions }))) as Health['service'];
}
