import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { Obstacle } from '../pods/server-pods.ts';
import type { ClusterView } from '../channels/cluster-view.ts';

/**
 * Decides which one of several objects acts for the same channel of the same server: the oldest. Services that have a pod
 * in common lead to the same server.
 */
export interface Rivalry {
  /** Why another object acts instead of this one, or `null`. */
  readonly obstacle: (channel: ReleaseChannel) => Obstacle | null;
  /** Whether an object exists and acts for its channel. An object that this version cannot read counts. */
  readonly isActing: (key: string) => boolean;
  /** The other objects for the same channel of the same server. */
  readonly rivals: (channel: ReleaseChannel) => readonly ReleaseChannel[];
}

export function createRivalry(
  view: Pick<ClusterView, 'channel' | 'channelsOf' | 'exists' | 'servicesWithPodsOf'>,
): Rivalry {
  const rivals = ({ namespace, name, spec }: ReleaseChannel): readonly ReleaseChannel[] =>
    [...view.servicesWithPodsOf(namespace, spec.serverRef.name)]
      .flatMap((service) => [...view.channelsOf(namespace, service)])
      .filter((other) => other.name !== name && other.spec.channel === spec.channel);

  const obstacle = (channel: ReleaseChannel): Obstacle | null => {
    const older = rivals(channel).filter((each) => !each.isDeleting && isOlder(each, channel));
    const [oldest] = older.sort((left, right) => (isOlder(left, right) ? -1 : 1));
    if (oldest === undefined) return null;
    const message = `ReleaseChannel "${oldest.name}" is older and represents the same channel of the same server; delete one of them`;
    return { reason: 'ChannelTaken', message };
  };

  return {
    obstacle,
    rivals,
    isActing: (key) => {
      const channel = view.channel(key);
      return channel === undefined ? view.exists(key) : obstacle(channel) === null;
    },
  };
}

/** Of two objects that were created in the same second, the one whose name sorts first is older. */
function isOlder(one: ReleaseChannel, other: ReleaseChannel): boolean {
  return one.createdAt === other.createdAt ? one.name < other.name : one.createdAt < other.createdAt;
}
