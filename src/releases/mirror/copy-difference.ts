import { setImmediate as nextTurn } from 'node:timers/promises';
import { compareDestinations } from '../../domain/release/destination.ts';
import { DIFFERENCE_MAX_CHANGES, type ManifestChange } from '../../domain/release/manifest.ts';
import type { SnapshotId } from '../../domain/release/digest.ts';
import { namedReleases } from '../../domain/verdict/effective-attestation.ts';
import type { TaskContext } from '../../engine/tasks/task.ts';
import type {
  AttestedSource,
  NoteWait,
  SourceDifference,
  SourceManifest,
  SourceRelease,
} from '../../mirror/attested-source.ts';
import { MirrorError } from '../../mirror/mirror-error.ts';
import { checkDescription } from '../../mirror/read-manifest.ts';
import { messageOf } from '../../platform/errors.ts';
import { identifyChanged } from '../../snapshot/manifest/changed-manifest.ts';
import { SnapshotFault } from '../../snapshot/volume/snapshot-fault.ts';
import { UpstreamError } from '../../upstream/upstream.ts';
import type { RevisionRow } from '../catalog/catalog-store.ts';
import { contentPrefix } from '../records/content-digest.ts';
import { entryRowOf } from '../records/entry-row.ts';
import type { HeldOrigin } from '../records/origin-repository.ts';
import type { ChangedCopy } from '../records/release-record-of.ts';
import { isKept } from '../records/release-row.ts';
import { PAGE_ROWS } from '../records/sql.ts';
import { beginRevision, fingerprintOf, type MirrorParts } from './mirror-parts.ts';

/** A release here that the origin still names: the entries of another one can be told as what differs from it. */
interface Basis {
  readonly release: SourceRelease;
  readonly revisionId: number;
  readonly snapshotId: SnapshotId;
  /** Its objects were all hashed then or later, Unix seconds. */
  readonly verifiedAt: number;
}

interface AskedDifference {
  /** The release, with its entries written as a revision. */
  readonly copied: { readonly revision: RevisionRow; readonly changed: ChangedCopy } | null;
  /** The whole manifest, where the origin gave that instead; not read yet. */
  readonly manifest: SourceManifest | null;
}

const NOTHING: AskedDifference = { copied: null, manifest: null };

/**
 * Asks the origin for what differs between a release and one that is here, and writes the entries of the release from both. The
 * traffic and most of the work then grow with the changes.
 *
 * @returns nothing where no release here is of use, or where the difference does not make the signed manifest
 * @throws MirrorError `origin_not_distributable`, UpstreamError
 */
export async function askDifference(
  parts: MirrorParts,
  origin: HeldOrigin,
  release: SourceRelease,
  { context, noteWait }: { readonly context: TaskContext; readonly noteWait: NoteWait },
): Promise<AskedDifference> {
  const { source } = parts.upstream.attested;
  const basis = source.difference === undefined ? null : basisOf(parts, origin, release);
  if (source.difference === undefined || basis === null) return NOTHING;
  try {
    const answer = await source.difference(release, basis.snapshotId, context.signal, noteWait);
    if ('pages' in answer) return { copied: null, manifest: answer };
    return {
      copied: await copyDifference(parts, origin, { release, basis, answer }, context),
      manifest: null,
    };
  } catch (error) {
    if (context.signal.aborted || !isOfDifference(error)) throw error;
    context.log(
      'warn',
      `all entries are read, because the difference from a release here is of no use: ${messageOf(error)}`,
      {
        channel: release.channel,
        release_id: release.attested.release_id,
        since: basis.release.attested.release_id,
      },
    );
    return NOTHING;
  }
}

/**
 * Whether all entries may be there where the difference is not: an origin that has to make a difference can be too slow for that alone, and what
 * is in front of it can refuse the parameter. An origin that asks to wait is not asked again before.
 */
function isOfDifference(error: unknown): boolean {
  if (error instanceof MirrorError) return error.code !== 'origin_not_distributable';
  if (error instanceof UpstreamError)
    return error.code !== 'upstream_unreachable' && error.retryAfterMs === null;
  return error instanceof SnapshotFault;
}

/**
 * The release here from which another one probably differs least: one of its channel that is made for the same official release, then
 * the official release that it is made for, then any.
 */
function basisOf(
  { releases, catalogs, upstream }: MirrorParts,
  origin: HeldOrigin,
  { channel, attested: wanted }: SourceRelease,
): Basis | null {
  const rank = ({ channel: of, attested }: SourceRelease): number => {
    if (of === channel && attested.base_release_id === wanted.base_release_id) return 0;
    return attested.release_id === wanted.base_release_id ? 1 : 2;
  };
  const found = namedReleases(origin.statement).flatMap(({ channel: of, release: attested }): Basis[] => {
    const held = releases.get(of, attested.release_id);
    if (held === null || !isKept(held)) return [];
    const { snapshot_id: snapshotId, revision_id: revisionId, verified_at: verifiedAt } = held;
    if (snapshotId !== attested.snapshot_id || revisionId === null || verifiedAt === null) return [];
    // Its locators lead to this origin, by the URL and the path that the origin has now.
    const revision = catalogs.get(revisionId);
    if (revision?.upstream_label !== upstream.attested.source.label) return [];
    if (revision.fingerprint !== fingerprintOf(origin, attested)) return [];
    return [{ release: { channel: of, attested }, revisionId, snapshotId, verifiedAt }];
  });
  return found.toSorted((left, right) => rank(left.release) - rank(right.release))[0] ?? null;
}

interface Difference {
  readonly release: SourceRelease;
  readonly basis: Basis;
  readonly answer: SourceDifference;
}

/**
 * Writes the entries of a release as a revision, when the changes make the signed manifest of the one that is here.
 *
 * @throws MirrorError, UpstreamError, SnapshotFault; nothing is kept then
 */
async function copyDifference(
  parts: MirrorParts,
  origin: HeldOrigin,
  difference: Difference,
  context: TaskContext,
): Promise<AskedDifference['copied']> {
  const { release, basis, answer } = difference;
  const { channel, attested } = release;
  checkDescription(answer, release);
  const changes = await readChanges(answer, context);
  const prefix = contentPrefix(answer.header.app_version ?? null);
  const found = await identifyChanged(
    answer.header,
    { root: parts.root, since: basis.snapshotId, changes },
    prefix,
    context.signal,
  );
  if (found.snapshotId !== attested.snapshot_id) {
    throw new MirrorError(
      'origin_manifest_differs',
      `the manifest of ${channel} release ${attested.release_id} made of it is ${found.snapshotId}, and ${attested.snapshot_id} was signed`,
    );
  }
  const revision = await writeRows(parts, origin, difference, { changes, context });
  context.log('info', 'the signed manifest of the origin was made from a release here', {
    channel,
    release_id: attested.release_id,
    since: basis.release.attested.release_id,
    entries: attested.entry_count,
    changes: changes.length,
  });
  const { entry_count: entryCount, total_bytes: totalBytes } = answer.header;
  return {
    revision,
    changed: {
      since: basis.snapshotId,
      revisionId: basis.revisionId,
      verifiedAt: basis.verifiedAt,
      destinations: changes.map(({ destination }) => destination),
      content: { digest: found.contentDigest, entryCount, totalBytes },
    },
  };
}

/**
 * Reads the changes. They must ascend: what the digest is made of skips one that comes too late, and the rows that are written do not.
 *
 * @throws MirrorError `origin_malformed`; UpstreamError
 */
async function readChanges(
  { total, changes: pages }: SourceDifference,
  context: TaskContext,
): Promise<readonly ManifestChange[]> {
  const changes: ManifestChange[] = [];
  const bounded = (count: number): void => {
    if (count <= DIFFERENCE_MAX_CHANGES) return;
    throw new MirrorError('origin_malformed', `it has more than ${DIFFERENCE_MAX_CHANGES} changes`);
  };
  bounded(total);
  for await (const page of pages) {
    context.signal.throwIfAborted();
    for (const change of page) {
      const before = changes.at(-1);
      if (before !== undefined && compareDestinations(before.destination, change.destination) >= 0) {
        throw new MirrorError(
          'origin_malformed',
          `the change of ${JSON.stringify(change.destination)} follows that of ${JSON.stringify(before.destination)}`,
        );
      }
      changes.push(change);
    }
    bounded(changes.length);
    context.progress(changes.length, total, 'entries', 'catalog');
  }
  return changes;
}

async function writeRows(
  parts: MirrorParts,
  origin: HeldOrigin,
  { release, basis, answer }: Difference,
  { changes, context }: { readonly changes: readonly ManifestChange[]; readonly context: TaskContext },
): Promise<RevisionRow> {
  const { catalogs, upstream } = parts;
  const { source } = upstream.attested;
  const folders = {
    before: folderIn(source, origin, basis.release),
    after: folderIn(source, origin, release),
  };
  const revisionId = beginRevision(parts, release, answer, context.taskId);
  try {
    for await (const _entries of catalogs.copyRows(basis.revisionId, {
      revisionId,
      withObjects: true,
      folders,
    })) {
      context.signal.throwIfAborted();
    }
    for (let at = 0; at < changes.length; at += PAGE_ROWS) {
      const page = changes.slice(at, at + PAGE_ROWS).map(({ destination, entry }) => {
        const row =
          entry === null
            ? null
            : entryRowOf(entry, { locator: source.locatorOf(origin, release, entry), blake3: null });
        return { destination, row };
      });
      catalogs.changeRows(revisionId, page);
      context.signal.throwIfAborted();
      await nextTurn();
    }
  } catch (error) {
    await catalogs.drop(revisionId);
    throw error;
  }
  return catalogs.complete(revisionId, fingerprintOf(origin, release.attested));
}

function folderIn(source: AttestedSource, origin: HeldOrigin, release: SourceRelease): string {
  if (source.folderOf === undefined) throw new Error(`${source.label} tells differences and no folders`);
  return source.folderOf(origin, release);
}
