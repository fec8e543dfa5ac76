import type { Random } from '../../../demo/game/seeded-random.ts';
import type { ReleaseFiles } from '../release-tree.ts';
import { CDN_HOST, type Readiness } from './simulated-server.ts';
import type { Site } from './site.ts';

/** What a site has promised so far. */
export interface Promises {
  /** The newest attestation that a client has seen. */
  newestVersion: number;
  /** Whether every file must be served: nothing was damaged since the world healed. */
  isFaultless: boolean;
  /** The files of every release, by id. */
  readonly releases: ReadonlyMap<string, ReleaseFiles>;
}

/** The states of a service that serves its official release. */
const SERVING: ReadonlySet<string> = new Set(['healthy', 'degraded']);

/**
 * Checks what a client sees of a site: no wrong byte, no mixture of releases, versions that grow, and one story on every surface.
 *
 * @throws Error
 */
export async function checkSite(site: Site, promises: Promises, random: Random): Promise<void> {
  const readiness = await site.server.readiness();
  if (readiness === null) return;
  checkVersion(site, promises, readiness);
  await checkStory(site, readiness);
  for (const [releaseId, files] of promises.releases) {
    const mustServe = promises.isFaultless && readiness.distributable && releaseId === readiness.release_id;
    // Of earlier releases, one file tells whether they are served at all.
    const chosen = releaseId === readiness.release_id ? [...files.keys()] : [random.pick([...files.keys()])];
    for (const destination of chosen)
      await checkFile({ site, releaseId, destination, expected: files.get(destination), random, mustServe });
  }
}

/** Whether a site serves a release and says that it is healthy. @returns `null`, or what it says instead */
export async function isHealed(site: Site, releaseId: string): Promise<string | null> {
  const readiness = await site.server.readiness();
  const health = await site.server.health();
  const isServed = readiness?.distributable === true && readiness.release_id === releaseId;
  if (isServed && health?.service.state === 'healthy') return null;
  return `${site.folder}: ${JSON.stringify({ readiness, service: health?.service ?? null, wanted: releaseId })}`;
}

function checkVersion(site: Site, promises: Promises, { attestation }: Readiness): void {
  const version = attestation?.version ?? 0;
  if (attestation !== null && version < promises.newestVersion)
    throw new Error(`${site.folder}: attestation ${version} after ${promises.newestVersion}`);
  promises.newestVersion = Math.max(version, promises.newestVersion);
}

/** The probe, the health report and the release report agree. */
async function checkStory(site: Site, { distributable, reason }: Readiness): Promise<void> {
  const health = await site.server.health();
  if (health === null) return;
  const { distributable: healthy, reason: told } = health.verdicts.official;
  const again = await site.server.readiness();
  // The verdict can change between two requests.
  if (again?.distributable !== distributable || again.reason !== reason) return;
  if (healthy !== distributable || told !== reason)
    throw new Error(`${site.folder}: /readyz says ${String(reason)}, /healthz says ${String(told)}`);
  if (SERVING.has(health.service.state) !== distributable)
    throw new Error(
      `${site.folder}: the service is ${health.service.state}, distributable: ${String(distributable)}`,
    );
}

async function checkFile({
  site,
  releaseId,
  destination,
  expected,
  random,
  mustServe,
}: {
  readonly site: Site;
  readonly releaseId: string;
  readonly destination: string;
  readonly expected: Buffer | undefined;
  readonly random: Random;
  readonly mustServe: boolean;
}): Promise<void> {
  if (expected === undefined) return;
  const path = `/${CDN_HOST}/${releaseId}/${destination}`;
  const whole = await site.server.get(path);
  if (whole?.status === 200 && !whole.body.equals(expected))
    throw new Error(`${site.folder}: wrong bytes of ${releaseId}/${destination}`);
  if (mustServe && whole?.status !== 200)
    throw new Error(
      `${site.folder}: ${path} is not served: ${whole?.status ?? 'no answer'} ${whole?.body.toString() ?? ''}`,
    );
  if (expected.length === 0) return;
  const first = random.below(expected.length);
  const last = first + random.below(expected.length - first);
  const part = await site.server.get(path, { range: `bytes=${first}-${last}` });
  if (part?.status === 206 && !part.body.equals(expected.subarray(first, last + 1)))
    throw new Error(`${site.folder}: wrong bytes ${first}-${last} of ${releaseId}/${destination}`);
}
