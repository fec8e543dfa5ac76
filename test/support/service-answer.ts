import { type Health } from '../../src/contract/schemas/answers/health.ts';
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

/** The state that a server with these verdicts tells. */
export function serviceOf(verdicts: Health['verdicts']): Health['service'] {
  return structuredClone(decideServiceState(factsOfVerdicts(verdicts))) as Health['service'];
}
