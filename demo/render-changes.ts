import { CARRY_TIERS } from '../src/contract/schemas/vocabulary.ts';
import { stableNames } from '../src/domain/text/stable-name.ts';
import { textTable } from '../src/platform/terminal/text-table.ts';
import { demoContainers } from './game/demo-containers.ts';
import { expectedChanges, type DemoReleaseId } from './game/demo-story.ts';
import type { CarryOver, IndexedRelease } from './play-release.ts';
import { exportLine, slipwayCommand, type CtlAddress } from './welcome.ts';

interface PlayedRelease extends IndexedRelease {
  readonly before: DemoReleaseId;
  readonly after: DemoReleaseId;
  /** Why there is a localized release, or none; `null` where none is expected. */
  readonly localized: string | null;
  /** How to call the system with `slipway ctl`. */
  readonly address: CtlAddress;
}

/** Says what is different in a demo release, what the daemon found, and where to see it. */
export function renderChanges(played: PlayedRelease): string {
  const { before, after, releaseId, carryOver, localized, address } = played;
  const ctl = `${slipwayCommand(address)} ctl`;
  const lines = expectedChanges(after) ?? { inserted: 0, changed: 0, removed: 0, moved: 0 };
  const diff =
    carryOver === null ? '' : `\n  ${ctl} texts diff ${carryOver.previous_release_id} ${releaseId}`;
  return `
Slipway serves release ${releaseId}
${localized === null ? '' : `${localized}\n`}
Its files with text, compared with ${before}:
${textTable(['CHANGE', 'FILE'], changedFiles(before, after))}
Its lines: ${lines.inserted} inserted, ${lines.changed} changed, ${lines.removed} removed, ${lines.moved} at another index
Found by Slipway: ${renderCarryOver(carryOver)}

Try:
  ${exportLine(address)}
  ${ctl} report parse.status${diff}
`;
}

function renderCarryOver(carryOver: CarryOver): string {
  if (carryOver === null) return 'nothing; the releases were not compared';
  return [...CARRY_TIERS, 'new' as const, 'removed' as const]
    .map((tier) => `${carryOver[tier]} ${tier}`)
    .join(', ');
}

/** Files that are new, gone, or renamed because the hash in the name changed; `*` stands for the hash. */
function changedFiles(before: DemoReleaseId, after: DemoReleaseId): string[][] {
  const [old, now] = [before, after].map((releaseId) => {
    const destinations = demoContainers(releaseId).map(({ destination }) => destination);
    const stable = stableNames(() => destinations);
    return new Map(destinations.map((destination) => [stable.keyOf(destination), destination]));
  });
  const rows: string[][] = [];
  for (const [key, destination] of now ?? []) {
    const previous = old?.get(key);
    if (previous === undefined) rows.push(['new', destination]);
    else if (previous !== destination) rows.push(['renamed', key]);
  }
  for (const [key, destination] of old ?? []) {
    if (now?.has(key) !== true) rows.push(['removed', destination]);
  }
  return rows;
}
