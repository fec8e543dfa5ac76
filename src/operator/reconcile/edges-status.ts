import { EDGE_RELEASES_MAX, type ReleaseChannelStatus } from '../../contract/crd/release-channel.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { PodHealth } from '../pods/pod-health.ts';
import type { ObservedEdges } from './observer.ts';

type EdgesRow = NonNullable<ReleaseChannelStatus['edges']>;

/**
 * The edges as a status shows them.
 *
 * @param history ids of the origin's releases, newest first; the further back an edge is in them, the slower it is
 */
export function edgesRow(
  { count, ready, asked }: ObservedEdges,
  channel: Channel,
  current: string | undefined,
  history: readonly string[],
): EdgesRow {
  const behind: Array<{ readonly name: string; readonly release: string | null }> = [];
  const counts = new Map<string, number>();
  for (const edge of asked) {
    const { distributable = false, release = null } = bindingOf(edge, channel);
    if (release !== null) counts.set(release, (counts.get(release) ?? 0) + 1);
    if (release === null || release !== current || !distributable) behind.push({ name: edge.name, release });
  }
  const age = (release: string | null): number => {
    if (release === null) return Infinity;
    const place = history.indexOf(release);
    return place === -1 ? history.length : place;
  };
  const atRelease = asked.length - behind.length;
  // A sort keeps the order of names among equals.
  const [slowest] = behind.sort((left, right) => age(right.release) - age(left.release) || 0);
  const releases = [...counts]
    .map(([release, number]) => ({ release, count: number }))
    .sort((left, right) => age(left.release) - age(right.release) || (left.release < right.release ? -1 : 1))
    .slice(0, EDGE_RELEASES_MAX);
  return {
    count,
    ready,
    atRelease,
    summary: `${atRelease}/${count}`,
    ...(slowest === undefined
      ? {}
      : {
          slowest: {
            name: slowest.name,
            ...(slowest.release === null ? {} : { release: slowest.release }),
          },
        }),
    ...(releases.length === 0 ? {} : { releases }),
  };
}

function bindingOf(
  { health }: PodHealth,
  channel: Channel,
): { readonly distributable?: boolean; readonly release?: string | null } {
  if (health === null) return {};
  const { distributable, release_id: release } = health.verdicts[channel];
  return { distributable, release };
}
