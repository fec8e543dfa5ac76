import type { ReleasesConfiguration } from './releases-configuration.ts';
import type { Failpoints } from '../platform/files/failpoints.ts';
import type { HashPool } from '../platform/hashing/digests.ts';
import type { Logger } from '../platform/logging/logging.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { ReleaseEvents } from '../engine/events/release-events.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { ConnectedUpstream } from '../upstream/adapters/upstream-source.ts';
import type { UpstreamWaits } from './download/upstream-waits.ts';
import type { Attestor } from './attest/attestor.ts';
import type { CatalogStore } from './catalog/catalog-store.ts';
import type { ReleaseCheck } from './checks/release-check.ts';
import type { ReleaseDamage } from './checks/release-damage.ts';
import type { Publisher } from './publish/publish.ts';
import type { AttestationRepository } from './records/attestation-repository.ts';
import type { ObjectRegistry } from './records/object-registry.ts';
import type { OriginRepository } from './records/origin-repository.ts';
import type { ProbeRepository } from './records/probe-repository.ts';
import type { ReleaseRepository } from './records/release-repository.ts';
import type { RepairAttempts } from './records/repair-attempts.ts';
import type { SqlDatabase } from './records/sql.ts';
import type { Staging } from './sync/staging.ts';

/** What the daemon gives to its releases, and they to each of their parts. */
export interface ReleaseBase {
  /** Root of the snapshot volume to which `writer` writes. */
  readonly root: string;
  readonly writer: SnapshotWriter;
  readonly database: SqlDatabase;
  readonly engine: TaskEngine;
  readonly events: ReleaseEvents;
  readonly pool: HashPool;
  readonly clock: Clock;
  /** In [0, 1); for the jitter of repairs and retries. */
  readonly random: () => number;
  readonly logger: Logger;
  readonly failpoints: Failpoints;
  /** The settings that apply now; they can change while the daemon runs. */
  readonly configuration: () => ReleasesConfiguration;
}

/** What the tasks and the background work of releases share. */
export interface ReleaseParts extends ReleaseBase {
  readonly releases: ReleaseRepository;
  readonly catalogs: CatalogStore;
  readonly objects: ObjectRegistry;
  readonly attestations: AttestationRepository;
  readonly probes: ProbeRepository;
  readonly origins: OriginRepository;
  readonly attempts: RepairAttempts;
  readonly staging: Staging;
  readonly waits: UpstreamWaits;
  readonly damage: ReleaseDamage;
  readonly attestor: Attestor;
  readonly check: ReleaseCheck;
  readonly publisher: Publisher;
}

/** What one run of a task works with. */
export interface TaskParts extends ReleaseParts {
  /** The same upstream from the beginning of the run to its end; `null` when none is configured. */
  readonly upstream: ConnectedUpstream | null;
}
