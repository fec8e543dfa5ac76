import type { AttestationStatement } from '../../../domain/verdict/attestation.ts';
import type { MirroredRelease, MirrorReport } from './mirror-report.ts';

interface SoundCheck {
  readonly kind: 'server' | 'files';
  readonly mode: MirrorReport['mode'];
  readonly releases: readonly MirroredRelease[];
  readonly statement: AttestationStatement;
  /** Whether the releases are those of the other Slipway of `--against`. */
  readonly isCompared: boolean;
}

/** What a check that found nothing wrong does not show, each with what would show it. */
export function notShownBy({ kind, mode, releases, statement, isCompared }: SoundCheck): string[] {
  const texts: string[] = [];
  const unread = releases.reduce((sum, { entries, checked }) => sum + entries - checked, 0);
  if (mode === 'sample' && unread > 0)
    texts.push(`whether the ${unread} files outside of the sample are sound; leave out --sample to read all`);
  if (kind === 'server')
    texts.push(
      'whether the disk of the mirror is sound: what was read may come from memory, its own or that of a cache in front; slipway verify DIR there reads the disk',
    );
  if (!isCompared) {
    const signed = new Date(statement.issued_at * 1000).toISOString();
    const accepted =
      kind === 'server'
        ? 'an older attestation that is still valid is accepted'
        : 'static files keep the attestation with which they were exported';
    texts.push(
      `whether this is what the origin publishes now: the attestation was signed at ${signed}, and ${accepted}; compare with the origin: --against URL`,
    );
  }
  return texts;
}
