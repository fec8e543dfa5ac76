import { RELEASES_MAX, type ReleaseRepository } from './release-repository.ts';
import type { ReleaseSituation } from './retention-rules.ts';

/** The releases and pointers that the database holds now. */
export function situationOf(
  releases: Pick<ReleaseRepository, 'list' | 'pointer' | 'announced'>,
): ReleaseSituation {
  return {
    releases: releases.list(null, RELEASES_MAX),
    pointers: { official: releases.pointer('official'), localized: releases.pointer('localized') },
    announced: releases.announced(),
  };
}
