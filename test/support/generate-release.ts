import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';

/** Options of a generated release. */
export interface GeneratedReleaseOptions {
  readonly releaseId: string;
  readonly seed: number;
  /** Sizes in bytes, one file each; 12 files from 0 bytes to 3 MiB by default. */
  readonly sizes?: readonly number[];
  readonly appVersion?: string;
  /** Adds a server-info document with this catalog root. */
  readonly serverInfoRoot?: string;
}

/** A release in memory, in the forms that the kinds of upstream need. */
export interface GeneratedRelease {
  /** By destination. */
  readonly files: ReadonlyMap<string, Buffer>;
  /** The tree of a `manifest` upstream: the files, `release.json`, and `server-info.json` if requested. */
  manifestTree(): Map<string, Buffer>;
  /** Writes the tree of a `directory` upstream. */
  writeDirectory(path: string): Promise<void>;
}

const MIB = 1024 * 1024;
const DEFAULT_SIZES = [
  0,
  1,
  100,
  4096,
  65_536,
  200_000,
  400_000,
  MIB - 1,
  MIB,
  MIB + 1,
  2 * MIB,
  3 * MIB + 17,
];
const FOLDERS = [
  'TableBundles',
  'MediaResources/GameData/Audio',
  'Android_PatchPack',
  'Media Resources/音声',
];

/** Generates a small release whose content depends only on the options. */
export function generateRelease(options: GeneratedReleaseOptions): GeneratedRelease {
  const sizes = options.sizes ?? DEFAULT_SIZES;
  const files = new Map(
    sizes.map((size, index) => {
      const folder = FOLDERS[index % FOLDERS.length] ?? '';
      const name = `${folder}/file-${String(index).padStart(5, '0')}.bin`;
      return [name, seededBytes(`${options.seed}:${index}`, size)] as const;
    }),
  );
  const serverInfo =
    options.serverInfoRoot === undefined ? null : Buffer.from(serverInfoDocument(options.serverInfoRoot));
  const head = {
    release_id: options.releaseId,
    ...(options.appVersion === undefined ? {} : { app_version: options.appVersion }),
  };
  return {
    files,
    manifestTree() {
      const document = {
        ...head,
        ...(serverInfo === null ? {} : { server_info: 'server-info.json' }),
        entries: [...files].map(([destination, bytes]) => manifestEntry(destination, bytes)),
      };
      const tree = new Map(files);
      tree.set('release.json', Buffer.from(JSON.stringify(document)));
      if (serverInfo !== null) tree.set('server-info.json', serverInfo);
      return tree;
    },
    async writeDirectory(path) {
      const tree = new Map(files);
      tree.set('release.json', Buffer.from(JSON.stringify(head)));
      if (serverInfo !== null) tree.set('server-info.json', serverInfo);
      for (const [name, bytes] of tree) {
        await mkdir(dirname(join(path, name)), { recursive: true });
        await writeFile(join(path, name), bytes);
      }
    },
  };
}

/** An entry of `release.json` for these bytes. */
export function manifestEntry(destination: string, bytes: Buffer): object {
  return {
    destination,
    size: bytes.length,
    digests: {
      sha256: createHash('sha256').update(bytes).digest('hex'),
      md5: createHash('md5').update(bytes).digest('hex'),
      crc32: String(crc32(bytes)),
    },
  };
}

/** A server-info document in the usual form, whose last override group has this catalog root. */
export function serverInfoDocument(root: string): string {
  return JSON.stringify({
    ConnectionGroups: [
      {
        Name: 'Prod-Audit',
        ApiUrl: 'https://game.example:5000/api/',
        OverrideConnectionGroups: [
          { Name: '1.0', AddressablesCatalogUrlRoot: 'https://patch.example/m28_1_0_1' },
          { Name: '1.66', AddressablesCatalogUrlRoot: root },
        ],
        BundleVersion: 's8tloc7lo3',
      },
    ],
  });
}

/** Reproducible bytes (SHAKE128 of the seed). */
export function seededBytes(seed: string, size: number): Buffer {
  if (size === 0) return Buffer.alloc(0);
  return createHash('shake128', { outputLength: size }).update(seed).digest();
}
