import type { Channel } from '../../../domain/release/channel.ts';
import type { Failpoints } from '../../../platform/files/failpoints.ts';
import { TaskError } from '../../tasks/task.ts';
import type { AnnouncementFailpoint } from '../jobs/release-failpoints.ts';
import type { Announcement, ReleaseRepository } from '../records/release-repository.ts';
import type { ReleaseSituation } from '../records/retention-rules.ts';
import { requireSwitchable } from './require-switchable.ts';
import type { StatementIssuer } from './statement-issuer.ts';

/** Announces releases that become current at a stated time. */
export interface Announcer {
  /**
   * Announces a release: its bytes are served under their own path, and it becomes current at the stated time. Like a switch, it changes
   * nothing if it throws before the envelope is on the volume.
   *
   * @param currentAt Unix seconds
   */
  announce(channel: Channel, releaseId: string, currentAt: number): Promise<number>;
  /**
   * States another time for an announced release.
   *
   * @param currentAt Unix seconds
   * @returns the new version, or `null` when exactly this is not announced any longer
   */
  restate(announced: Announcement, currentAt: number): Promise<number | null>;
  /**
   * Makes an announced release current, like `switchTo`.
   *
   * @returns the new version, or `null` when exactly this is not announced any longer
   */
  switchToAnnounced(announced: Announcement): Promise<number | null>;
  /**
   * Takes the announcement of a channel back, if there is one.
   *
   * @returns the new version, or `null` when there was no announcement or nothing may be attested
   */
  cancelAnnouncement(channel: Channel): Promise<number | null>;
}

export interface AnnouncerOptions {
  readonly releases: ReleaseRepository;
  readonly issuer: Pick<StatementIssuer, 'publish' | 'publishChange' | 'trouble'>;
  readonly failpoints: Failpoints;
  /** The releases, pointers and announcements of the database. */
  readonly situation: () => ReleaseSituation;
  readonly switchTo: (channel: Channel, releaseId: string) => Promise<number>;
}

/** Creates the announcer. Calls must not overlap. */
export function createAnnouncer(options: AnnouncerOptions): Announcer {
  const { releases, issuer, situation, switchTo } = options;

  const announce = async (channel: Channel, releaseId: string, currentAt: number): Promise<number> => {
    const target = releases.get(channel, releaseId);
    requireSwitchable(releases, releaseId, target);
    const before = situation();
    const announcement = { channel, release_id: target.release_id, current_at: currentAt };
    const announced = [...before.announced.filter((one) => one.channel !== channel), announcement];
    const version = await issuer.publishChange(
      { ...before, announced },
      `announcement of ${releaseId}`,
      () => {
        releases.setAnnounced(channel, releaseId, currentAt);
      },
    );
    if (version === null) {
      throw new TaskError('not_attestable', issuer.trouble() ?? `release ${releaseId} may not be attested`);
    }
    const reached: AnnouncementFailpoint = 'release.database.announced';
    options.failpoints.hit(reached);
    return version;
  };

  const isAnnounced = ({ channel, release_id: id, current_at: at }: Announcement): boolean => {
    const announced = releases.announcedOf(channel);
    return announced?.release_id === id && announced.current_at === at;
  };

  const restate = async (announced: Announcement, currentAt: number): Promise<number | null> =>
    isAnnounced(announced) ? await announce(announced.channel, announced.release_id, currentAt) : null;

  const switchToAnnounced = async (announced: Announcement): Promise<number | null> =>
    isAnnounced(announced) ? await switchTo(announced.channel, announced.release_id) : null;

  const cancelAnnouncement = async (channel: Channel): Promise<number | null> => {
    if (releases.announcedOf(channel) === null) return null;
    releases.clearAnnounced(channel);
    const reached: AnnouncementFailpoint = 'release.announcement.cancelled';
    options.failpoints.hit(reached);
    return await issuer.publish(situation(), `end of the announcement of the ${channel} channel`);
  };

  return { announce, restate, switchToAnnounced, cancelAnnouncement };
}
