import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { JSON_MEDIA_TYPE } from '../../contract/json/media-types.ts';
import { renderDashboardContract } from './dashboard-contract.ts';

/** One file of the dashboard. */
export interface DashboardFile {
  readonly mediaType: string;
  readonly body: Buffer;
  /** A strong entity tag with its quotes. */
  readonly etag: string;
}

/** Folder of the page's own files; they are served byte for byte as in the repository. */
const ASSETS = join(import.meta.dirname, 'assets');

/** Media types of the served files in that folder; the declaration files are for the type checker. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Name of the page on disk; it is served under the empty name. */
const PAGE = 'index.html';

/**
 * Reads every file of the dashboard: the page, its scripts and styles, the view library, and the contract from which
 * the forms are made. It reads them once, so that a request touches neither disk nor path.
 *
 * @returns files by name below `/admin/dashboard/`; the page has the empty name
 */
export async function readDashboardFiles(): Promise<ReadonlyMap<string, DashboardFile>> {
  const files = new Map<string, DashboardFile>();
  for (const name of (await readdir(ASSETS)).sort()) {
    const mediaType = name.endsWith('.d.ts') ? undefined : MEDIA_TYPES[extname(name)];
    if (mediaType === undefined) continue;
    files.set(name === PAGE ? '' : name, dashboardFile(mediaType, await readFile(join(ASSETS, name))));
  }
  const library = await readFile(fileURLToPath(import.meta.resolve('preact')));
  files.set('preact.js', dashboardFile('text/javascript; charset=utf-8', library));
  const contract = Buffer.from(JSON.stringify(renderDashboardContract()));
  files.set('contract.json', dashboardFile(`${JSON_MEDIA_TYPE}; charset=utf-8`, contract));
  return files;
}

function dashboardFile(mediaType: string, body: Buffer): DashboardFile {
  return { mediaType, body, etag: `"${createHash('sha256').update(body).digest('base64url')}"` };
}
