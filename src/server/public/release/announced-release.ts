import type { Channel } from '../../../domain/release/channel.ts';
import { announcedRelease, type AnnouncedRelease } from '../../../domain/verdict/announced.ts';
import type { Serving, ServingControl } from '../../serving/serving.ts';

/** The announced release of a channel, once its bytes are served; `null` before that, and without one. */
export function servedAnnouncement(
  serving: Pick<Serving, 'state'> & Pick<ServingControl, 'attestation'>,
  channel: Channel,
): AnnouncedRelease | null {
  const statement = serving.attestation()?.statement;
  const announced = statement === undefined ? null : announcedRelease(statement, channel);
  return announced !== null && serving.state().byReleaseId.has(announced.release_id) ? announced : null;
}
