import type { Channel } from '../domain/release/channel.ts';
import type { Blake3Hex, SnapshotId } from '../domain/release/digest.ts';
import type { ManifestChange, ManifestEntry, ManifestHeader } from '../domain/release/manifest.ts';
import type { AttestedRelease } from '../domain/verdict/attestation.ts';

export interface SourceRelease {
  readonly channel: Channel;
  readonly attested: AttestedRelease;
}

/** The answer of a source about its current releases. Nothing in it has been verified. */
export interface SourceState {
  /** The DSSE envelope as it was signed; one statement names the releases of both channels. */
  readonly envelope: Uint8Array;
  /** Identifies this answer; sent with the next question, so that an unchanged source costs little. `null`: none. */
  readonly tag: string | null;
  /** The fixed first path segment of resource bytes, or `null` where the source has no such paths. */
  readonly cdnHost: string | null;
}

/** What a source tells of a release beside its entries. */
export interface SourceDescription {
  readonly header: ManifestHeader;
  readonly serverInfo: Uint8Array | null;
}

/** The description of one release, as the source tells it. Only {@link readManifest} makes it trustworthy. */
export interface SourceManifest extends SourceDescription {
  /** The entries in manifest order, a page at a time. Iterate once. */
  readonly pages: AsyncIterable<readonly ManifestEntry[]>;
}

/** The same in fewer words: what differs from a snapshot that the reader has. */
export interface SourceDifference extends SourceDescription {
  readonly since: SnapshotId;
  readonly total: number;
  /** The changes in manifest order, a page at a time. Iterate once. */
  readonly changes: AsyncIterable<readonly ManifestChange[]>;
}

/**
 * Hears of a wait that begins now.
 *
 * @param why one sentence
 * @param ms milliseconds
 */
export type NoteWait = (why: string, ms: number) => void;

/**
 * Somewhere that has releases whose attestation is signed by a key that the reader trusts: another Slipway, a folder of
 * bundles, a registry. A reader believes only that signature and the digests that it leads to.
 */
export interface AttestedSource {
  readonly label: string;
  /**
   * Asks for the current state.
   *
   * @param tag of the last answer, or `null`
   * @returns `null` when nothing has changed since that answer
   */
  current(tag: string | null, signal: AbortSignal): Promise<SourceState | null>;
  /**
   * Whether the last answer of `current` came with a release. Sources without this method have each release that they name.
   */
  holds?(release: SourceRelease): boolean;
  /**
   * Describes one release, current or retained.
   *
   * @param noteWait hears of the waits that the source asks for
   * @throws MirrorError `origin_not_distributable` while the source cannot give it, for example because of damage
   */
  manifest(release: SourceRelease, signal: AbortSignal, noteWait?: NoteWait): Promise<SourceManifest>;
  /**
   * As `manifest`, for a reader that has a snapshot already. Only sources that can have this method.
   *
   * @returns the difference from that snapshot; the whole manifest where the source no longer has it, or where much differs
   */
  difference?(
    release: SourceRelease,
    since: SnapshotId,
    signal: AbortSignal,
    noteWait?: NoteWait,
  ): Promise<SourceManifest | SourceDifference>;
  /** What the locators of the entries of a release begin with, in a source with `difference`; the encoded destination follows. */
  folderOf?(state: { readonly cdnHost: string | null }, release: SourceRelease): string;
  /**
   * Tells which objects will be fetched next, so that a source can fetch neighbours in one request. It replaces the
   * objects of the call before.
   */
  prepare?(missing: AsyncIterable<Blake3Hex> | Iterable<Blake3Hex>): Promise<void>;
  /** Where the bytes of an entry are: a text that means something to this source alone. */
  locatorOf(state: { readonly cdnHost: string | null }, release: SourceRelease, entry: ManifestEntry): string;
}
