import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareDestinations, type Destination } from '../../domain/release/destination.ts';
import { parseEntryDestination } from '../entry-rules.ts';
import { quoteText } from '../upstream-location.ts';
import { UpstreamError } from '../upstream.ts';

/** Files looked at together: hides the latency of network file systems. */
const LOOK_AHEAD = 64;

export interface TreeFile {
  readonly destination: Destination;
  readonly size: number;
  readonly mtimeNs: bigint;
}

export interface WalkRules {
  /** Names at the root that are not entries. */
  readonly ignoredAtRoot: ReadonlySet<string>;
  readonly maxNames: number;
}

/**
 * Walks a tree in byte order of the destinations. Names that begin with a dot are left out. Symbolic links are never
 * followed: they and special files fail the walk. Memory holds the names of the directories on the way down alone.
 *
 * @param root absolute path of the tree
 * @throws UpstreamError, or the signal's reason
 */
export async function* walkTree(
  root: string,
  rules: WalkRules,
  signal: AbortSignal,
): AsyncGenerator<TreeFile, void> {
  yield* walkDirectory(root, '', rules, signal);
}

async function* walkDirectory(
  root: string,
  prefix: string,
  rules: WalkRules,
  signal: AbortSignal,
): AsyncGenerator<TreeFile, void> {
  const names = await listNames(join(root, prefix), prefix, rules);
  for (let start = 0; start < names.length; start += LOOK_AHEAD) {
    signal.throwIfAborted();
    const batch = names.slice(start, start + LOOK_AHEAD);
    const looked = await Promise.all(batch.map(async (name) => look(root, prefix, name)));
    for (const { file, directory } of looked) {
      if (directory !== null) yield* walkDirectory(root, directory, rules, signal);
      else if (file !== null) yield file;
    }
  }
}

async function listNames(path: string, prefix: string, rules: WalkRules): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(path, { bufferSize: 256 })) {
      if (entry.name.startsWith('.')) continue;
      if (prefix === '' && rules.ignoredAtRoot.has(entry.name)) continue;
      if (names.length === rules.maxNames) {
        throw new UpstreamError(
          'catalog_too_large',
          `${quoteText(path)} holds more than ${rules.maxNames} names (upstream.maxEntries)`,
        );
      }
      names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    }
  } catch (error) {
    throw failureOfFile(error, path);
  }
  return names.sort(compareDestinations);
}

async function look(
  root: string,
  prefix: string,
  name: string,
): Promise<{ readonly file: TreeFile | null; readonly directory: string | null }> {
  const relative = prefix + name;
  const bare = relative.endsWith('/') ? relative.slice(0, -1) : relative;
  if (bare.includes('\ufffd')) {
    throw new UpstreamError('destination_invalid', `${quoteText(bare)}: the name is not valid UTF-8`);
  }
  const destination = parseEntryDestination(bare, 'the tree');
  const path = join(root, bare);
  let stats;
  try {
    stats = await lstat(path, { bigint: true });
  } catch (error) {
    throw failureOfFile(error, path);
  }
  if (stats.isDirectory() && name.endsWith('/')) return { file: null, directory: relative };
  if (!stats.isFile() || name.endsWith('/')) {
    const what = stats.isSymbolicLink() ? 'a symbolic link' : 'neither a file nor a directory';
    throw new UpstreamError(
      'catalog_invalid',
      `${quoteText(path)} is ${what}; a release has only regular files and directories, so put the file itself there, or remove it`,
    );
  }
  return { file: { destination, size: Number(stats.size), mtimeNs: stats.mtimeNs }, directory: null };
}

/**
 * Names the failure that an error of the file system is. A file that is listed and then gone is a tree that changed.
 *
 * @param error what `node:fs` threw; anything else is returned as it is
 */
export function failureOfFile(error: unknown, path: string): unknown {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  if (error instanceof UpstreamError || code === undefined) return error;
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') {
    return new UpstreamError(
      'catalog_changed',
      `${quoteText(path)} changed while the tree was read (${code})`,
      {
        retryable: true,
        cause: error,
      },
    );
  }
  return new UpstreamError('upstream_unreachable', `${quoteText(path)} cannot be read (${code})`, {
    retryable: code !== 'EACCES' && code !== 'EPERM',
    cause: error,
  });
}
