import type { Random } from '../../../demo/game/seeded-random.ts';
import type { ReleaseFiles } from '../release-tree.ts';
import { checkRange, checkWhole, type ExpectedFile } from './check-bytes.ts';
import { baseOf } from './localized-releases.ts';
import type { Readiness } from './simulated-server.ts';
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
/** Files of which a part is requested, and files of earlier releases that are requested, at a time. */
const PARTS = 2;
/** How far the clock of a server may be behind that of its daemon, seconds. */
const SKEW_SECONDS = 60;

/**
 * Checks what a client sees of a site: no wrong byte, no mixture of releases, versions that grow, and one story on every surface.
 *
 * @throws Error
 */
export async function checkSite(site: Site, promises: Promises, random: Random): Promise<void> {
  const readiness = await site.server.readiness();
  if (readiness === null) return;
  checkAttestation(site, promises, readiness);
  await checkStory(site, readiness);
  const current = filesOf(promises, readiness.release_id ?? '');
  for (const file of current) await checkWhole(site, file, promises.isFaultless && readiness.distributable);
  const earlier = filesOf(promises, random.pick([...promises.releases.keys()]));
  for (let part = 0; part < PARTS; part += 1) {
    if (current.length > 0) await checkRange(site, random.pick(current), random);
    await checkWhole(site, random.pick(earlier), false);
  }
}

/** Whether a site serves a release. @returns `null`, or what it says instead */
export async function serves(site: Site, releaseId: string): Promise<string | null> {
  const readiness = await site.server.readiness();
  const isServed = readiness?.distributable === true && readiness.release_id === releaseId;
  return isServed ? null : JSON.stringify({ readiness, wanted: releaseId });
}

/** Whether a site serves a release and a localized one of it, and says that it is healthy. @returns `null`, or what it says instead */
export async function isHealed(site: Site, releaseId: string): Promise<string | null> {
  const health = await site.server.health();
  const { localized } = health?.verdicts ?? {};
  const isHealthy =
    health?.service.state === 'healthy' &&
    localized?.distributable === true &&
    baseOf(localized.release_id ?? '') === releaseId;
  return isHealthy ? await serves(site, releaseId) : JSON.stringify(health);
}

function filesOf({ releases }: Promises, releaseId: string): ExpectedFile[] {
  return [...(releases.get(releaseId) ?? [])].map(([destination, expected]) => ({
    releaseId,
    destination,
    expected,
  }));
}

/** The attestation that a site serves by is none of an earlier version, and has not ended. */
function checkAttestation(site: Site, promises: Promises, { attestation, distributable }: Readiness): void {
  if (attestation === null) return;
  const { version, expires_at: end } = attestation;
  if (version < promises.newestVersion)
    throw new Error(`${site.folder}: attestation ${version} after ${promises.newestVersion}`);
  promises.newestVersion = version;
  if (distributable && end + SKEW_SECONDS < site.clock.now() / 1000)
    throw new Error(`${site.folder}: attestation ${version} ended at ${end}`);
}

/** The probe, the health report, the metrics and the report of the daemon agree. */
async function checkStory(site: Site, { distributable, reason }: Readiness): Promise<void> {
  const { server, daemon } = site;
  const [health, metrics] = [await server.health(), await server.metrics()];
  const status = await daemon.releaseStatus();
  const again = await server.readiness();
  // The verdict can change between two requests.
  if (health === null || metrics === null || again?.reason !== reason) return;
  const { service, verdicts } = health;
  requireOne(site, 'reason', {
    '/readyz': distributable ? 'none' : reason,
    '/healthz': verdicts.official.distributable ? 'none' : verdicts.official.reason,
    metrics: metrics.reason,
  });
  requireOne(site, 'state', { '/healthz': service.state, metrics: metrics.state });
  requireOne(site, 'serving', { '/readyz': distributable, service: SERVING.has(service.state) });
  if (!distributable || again.attestation?.version !== status?.attestation?.version) return;
  requireOne(site, 'release', { '/readyz': again.release_id, daemon: status?.official?.release_id });
}

function requireOne(site: Site, what: string, told: Readonly<Record<string, unknown>>): void {
  if (new Set(Object.values(told)).size > 1)
    throw new Error(`${site.folder}: more than one ${what} is told: ${JSON.stringify(told)}`);
}
