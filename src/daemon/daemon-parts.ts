import type { RebuiltDatabase } from '../engine/database/main-database.ts';
import type { Database } from '../engine/database/sqlite-database.ts';
import type { ReleaseEvents } from '../engine/events/release-events.ts';
import type { Schedules } from '../engine/schedules/schedules.ts';
import type { TaskEngine } from '../engine/tasks/task-engine.ts';
import type { Localization } from '../localization/localization.ts';
import type { Releases } from '../releases/releases.ts';
import type { SnapshotWriter } from '../snapshot/snapshot-writer.ts';
import type { StoreLease } from '../snapshot/volume/store-lease.ts';
import type { Upstream } from '../upstream/adapters/connect-upstream.ts';
import type { Backup } from './backup/backup.ts';
import type { Closers } from './closers.ts';
import type { DaemonOptions } from './daemon-options.ts';
import type { DaemonConfiguration } from './settings/config.ts';
import type { SettingsHolder } from './settings/daemon-settings.ts';

/** The parts of a start that need no folder. */
export interface DaemonParts {
  readonly configuration: DaemonConfiguration;
  readonly options: DaemonOptions;
  readonly settings: SettingsHolder;
  readonly closers: Closers;
}

/** The parts with which the modules are opened. */
export interface OpenedParts extends DaemonParts {
  /** The main database. */
  readonly database: Database;
  /** The damaged database that this one replaces since the start, or `null`. */
  readonly rebuilt: RebuiltDatabase | null;
  readonly writer: SnapshotWriter;
  readonly lease: StoreLease;
}

/** The modules of the daemon. */
export interface Modules {
  readonly engine: TaskEngine;
  readonly events: ReleaseEvents;
  readonly schedules: Schedules;
  readonly upstream: Upstream;
  readonly releases: Releases;
  readonly localization: Localization;
  readonly backup: Backup;
}
