import type { ClusterView } from '../channels/cluster-view.ts';
import type { ReleaseChannel } from '../kubernetes/objects.ts';
import type { Obstacle } from '../pods/server-pods.ts';

/** The other objects for the same channel of the same server. Services that have a pod in common lead to the same server. */
export function rivalsOf(
  view: ClusterView,
  { namespace, name, spec }: ReleaseChannel,
): readonly ReleaseChannel[] {
  return [...view.servicesWithPodsOf(namespace, spec.serverRef.name)]
    .flatMap((service) => [...view.channelsOf(namespace, service)])
    .filter((other) => other.name !== name && other.spec.channel === spec.channel);
}

/** Why another object acts instead of this one, or `null`: of several objects for one channel, the oldest acts. */
export function rivalObstacle(view: ClusterView, channel: ReleaseChannel): Obstacle | null {
  const older = rivalsOf(view, channel).filter((each) => !each.isDeleting && isOlder(each, channel));
  const [oldest] = older.sort((left, right) => (isOlder(left, right) ? -1 : 1));
  if (oldest === undefined) return null;
  const message = `ReleaseChannel "${oldest.name}" is older and represents the same channel of the same server; delete one of them`;
  return { reason: 'ChannelTaken', message };
}

/** Whether an object exists and acts for its channel. An object that this version cannot read counts. */
export function isActing(view: ClusterView, key: string): boolean {
  const channel = view.channel(key);
  return channel === undefined ? view.exists(key) : rivalObstacle(view, channel) === null;
}

/** Of two objects that were created in the same second, the one whose name sorts first is older. */
function isOlder(one: ReleaseChannel, other: ReleaseChannel): boolean {
  return one.createdAt === other.createdAt ? one.name < other.name : one.createdAt < other.createdAt;
}
