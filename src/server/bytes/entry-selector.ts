import { ServiceError } from '../../contract/problems/service-error.ts';
import type { Representation } from '../../domain/http/byte-response.ts';
import type { Channel } from '../../domain/release/channel.ts';
import type { ManifestEntry } from '../../domain/release/manifest.ts';
import type { PendingRelease, ServedRelease, Serving } from '../serving/serving.ts';
import { notDistributable } from './byte-path-problems.ts';
import {
  parseBytePathTarget,
  pendingRelease,
  selectRelease,
  type BytePathSelection,
} from './byte-path-target.ts';

/** The entry that a target names, at one generation of the serving state. */
export interface SelectedEntry extends BytePathSelection {
  readonly generation: number;
  readonly entry: ManifestEntry;
  readonly representation: Representation;
}

/** Finds the entries that requests name. */
export interface EntrySelector {
  /**
   * Finds the entry that a request target names.
   *
   * @throws ServiceError with the answer when nothing may be sent
   */
  select(target: string): SelectedEntry;
  /** @throws ServiceError `not_distributable` when the bytes of this release must not leave now */
  requireServable(release: ServedRelease | PendingRelease): void;
}

const IMMUTABLE = 'max-age=31536000, immutable';
const REVALIDATE = 'no-cache';

/** Makes the selector: target, then release, then its verdict, then the entry in its manifest. */
export function createEntrySelector(options: {
  readonly serving: Serving;
  /** `/{cdn_host}/`. */
  readonly prefix: string;
  /** The channel for paths that name no release. */
  readonly defaultChannel: Channel;
  /** Seconds after which a client may try again while a release is not distributable. */
  readonly retryAfterSeconds: number;
  /** Whether reading the entries needs a token: then a cache that several clients share must not store them. */
  readonly needsToken: boolean;
}): EntrySelector {
  const { serving, prefix, defaultChannel, retryAfterSeconds, needsToken } = options;
  const immutable = `${needsToken ? 'private' : 'public'}, ${IMMUTABLE}`;

  const requireServable = (release: ServedRelease | PendingRelease): void => {
    const servable = serving.servable(release);
    if (!servable.ok) {
      throw notDistributable(
        `Release ${release.releaseId} is not distributable: ${servable.message}.`,
        servable.reason,
        retryAfterSeconds,
      );
    }
  };

  return {
    requireServable,
    select: (target) => {
      const path = parseBytePathTarget(target, prefix);
      if (path.kind === 'malformed') {
        throw new ServiceError('invalid_request', 'The path has a percent-escape that is not valid UTF-8.');
      }
      const state = serving.state();
      const pending = path.kind === 'path' ? pendingRelease(path.path, state) : null;
      // A client may have learned of the release from another replica that is a moment ahead.
      if (pending !== null) requireServable(pending);
      const selection = selectRelease(path.kind === 'path' ? path.path : '', state, defaultChannel);
      if (selection === null) {
        const { reason, message } = serving.verdict(defaultChannel);
        throw notDistributable(
          `No ${defaultChannel} release is served now: ${message}.`,
          reason,
          retryAfterSeconds,
        );
      }
      requireServable(selection.release);
      const position = path.kind === 'path' ? selection.release.index.find(selection.destination) : -1;
      if (position === -1) {
        throw new ServiceError(
          'unknown_destination',
          'No release served here has an entry with this path. Paths are case-sensitive and are decoded once.',
        );
      }
      const entry = selection.release.index.entry(position);
      const cacheControl = selection.immutable ? immutable : REVALIDATE;
      const representation = representationOf(selection, entry, cacheControl);
      return { ...selection, generation: state.generation, entry, representation };
    },
  };
}

/** Under the current path, the bytes of a release were last modified when it became current, also when it was current before. */
function representationOf(
  { release, immutable }: BytePathSelection,
  entry: ManifestEntry,
  cacheControl: string,
): Representation {
  const { attested, currentSince } = release;
  return {
    etag: `"${entry.blake3}"`,
    lastModified: immutable ? attested.created_at : (currentSince ?? attested.created_at),
    size: entry.size,
    mediaType: entry.media_type,
    cacheControl,
  };
}
