import { instant } from '../../../domain/instant.ts';
import type { AcceptedMirror } from './accept-mirror.ts';
import type { MirroredRelease, MirrorReport } from './mirror-report.ts';

interface SoundCheck {
  readonly mirror: AcceptedMirror;
  readonly mode: MirrorReport['mode'];
  readonly releases: readonly MirroredRelease[];
  /** Whether the releases are those of the other Slipway of `--against`, whose attestation is valid now. */
  readonly isCurrent: boolean;
  /** What is not known of the `release.json` of a static mirror, or `null`. */
  readonly otherRelease: string | null;
}

/** What a check that found nothing wrong does not show, each with what would show it. */
export function notShownBy({ mirror, mode, releases, isCurrent, otherRelease }: SoundCheck): string[] {
  const { kind, isExpired, attestation } = mirror;
  const texts: string[] = otherRelease === null ? [] : [otherRelease];
  const unread = releases.reduce((sum, { entries, checked }) => sum + entries - checked, 0);
  if (mode === 'sample' && unread > 0)
    texts.push(`whether the ${unread} files outside of the sample are sound; leave out --sample to read all`);
  if (kind === 'server')
    texts.push(
      'whether the disk of the mirror is sound: what was read may come from memory, its own or that of a cache in front; slipway verify DIR there reads the disk',
    );
  if (!isCurrent) {
    const { issued_at: issuedAt, expires_at: expiresAt } = attestation.statement;
    const files = `static files keep the attestation with which they were exported${isExpired ? `; it expired at ${instant(expiresAt)}, so it may be one of any earlier release` : ''}`;
    const accepted = kind === 'server' ? 'an older attestation that is still valid is accepted' : files;
    texts.push(
      `whether this is what the origin publishes now: the attestation was signed at ${instant(issuedAt)}, and ${accepted}; compare with the origin: --against URL`,
    );
  }
  return texts;
}
