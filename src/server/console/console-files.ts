import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

import type { ConsoleForms, ConsoleOutline } from '../../contract/console/console-contract.ts';
import { RUNBOOK_BASE } from '../../contract/problems/problem-links.ts';
import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import type { Logger } from '../../platform/logging/logging.ts';

/** The codings in which files are kept, the best first (RFC 9110, section 8.4.1). */
export const CODINGS = ['br', 'gzip'] as const;

type Coding = (typeof CODINGS)[number];

interface EncodedFile {
  readonly body: Buffer;
  /** A strong entity tag with its quotes; each coding has its own. */
  readonly etag: string;
}

/** One file of the console. */
export interface ConsoleFile {
  readonly mediaType: string;
  /** Whether the name changes with the content, so that a cache may keep the file without asking again. */
  readonly isImmutable: boolean;
  readonly encodings: Readonly<Record<Coding | 'identity', EncodedFile>>;
}

/** Folder of the built console; `node scripts/console.ts` writes it. */
const BUILT = resolve(import.meta.dirname, '../../../.console');

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A name with a digest of the content, as scripts/console.ts gives them. */
const HASHED = /-[0-9A-Z]{8}\.(?:js|css)$/;

/** The best quality takes a tenth of a second, on a thread of its own. */
const COMPACT = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };

/** Name of the list of the files; scripts/console/build-console.ts writes it. */
const MANIFEST = 'manifest.json';

/** The contract: the outline, which every page needs, and the forms. */
const CONTRACT = ['outline.json', 'forms.json'] as const;

interface ConsoleOptions {
  readonly folder?: string;
  readonly runbooks?: string;
}

/**
 * Reads the console for a server. Everything else that the server does works without it, so a console that is missing or
 * damaged is a warning.
 *
 * @param logger of the process that warns; `null` in the others
 * @returns as {@link readConsoleFiles}; no files when the console cannot be read, for the page "not built"
 */
export async function loadConsole(
  logger: Logger | null,
  { folder = BUILT, runbooks = RUNBOOK_BASE }: ConsoleOptions = {},
): Promise<ReadonlyMap<string, ConsoleFile>> {
  try {
    return await readConsoleFiles({ folder, runbooks });
  } catch (err) {
    logger?.warn(
      { err, folder },
      'the console is missing or damaged, so /admin/dashboard/ is not served; run "node scripts/console.ts" in the folder of Slipway, then start the server again',
    );
    return new Map();
  }
}

/**
 * Reads every file of the console, in every coding. It reads them once, so that a request touches neither disk nor path.
 *
 * @returns files by name below `/admin/dashboard/`; the page has the empty name
 * @throws an error of the file system, or one that names what is wrong with the build
 */
export async function readConsoleFiles({
  folder = BUILT,
  runbooks = RUNBOOK_BASE,
}: ConsoleOptions = {}): Promise<ReadonlyMap<string, ConsoleFile>> {
  const files = new Map<string, ConsoleFile>();
  const readOne = async (name: string): Promise<void> => {
    const read = async (ending: string): Promise<EncodedFile> =>
      encoded(await readFile(join(folder, `${name}${ending}`)));
    const [identity, br, gzip] = await Promise.all([read(''), read('.br'), read('.gz')]);
    files.set(addressOf(name), {
      mediaType: MEDIA_TYPES[extname(name)] ?? 'application/octet-stream',
      isImmutable: HASHED.test(name),
      encodings: { identity, br, gzip },
    });
  };
  await Promise.all((await readNames(join(folder, MANIFEST))).map(readOne));
  if (!files.has('')) throw new Error(`${MANIFEST} of the console names no index.html.`);
  const contract = async (name: string): Promise<void> => {
    const built = JSON.parse(await readFile(join(folder, name), 'utf8')) as ConsoleForms | ConsoleOutline;
    files.set(name, await jsonFile('runbooks' in built ? { ...built, runbooks } : built));
  };
  await Promise.all(CONTRACT.map(contract));
  return files;
}

async function jsonFile(value: object): Promise<ConsoleFile> {
  const body = Buffer.from(JSON.stringify(value));
  return {
    mediaType: `${JSON_MEDIA_TYPE}; charset=utf-8`,
    isImmutable: false,
    encodings: {
      identity: encoded(body),
      br: encoded(await promisify(brotliCompress)(body, COMPACT)),
      gzip: encoded(await promisify(gzip)(body)),
    },
  };
}

/** Where a file is served: pages without the ending of their names, and that of a folder under the name of the folder. */
function addressOf(name: string): string {
  return name.replace(/(?:^|(?<=\/))index\.html$/, '').replace(/\.html$/, '');
}

/** The names of all files of the build, without those of their encodings. */
async function readNames(manifest: string): Promise<readonly string[]> {
  return (JSON.parse(await readFile(manifest, 'utf8')) as { readonly files: readonly string[] }).files;
}

function encoded(body: Buffer): EncodedFile {
  return { body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}
