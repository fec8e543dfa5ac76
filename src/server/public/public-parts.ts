import type { HashPool } from '../../platform/hashing/digests.ts';
import type { Clock } from '../../platform/process/clock.ts';
import type { ServerConfiguration } from '../config/config.ts';
import type { DaemonClient } from '../daemon-client/daemon-client.ts';
import type { DaemonPresence } from '../daemon-client/daemon-presence.ts';
import type { ReadServiceState } from '../service/service-state-reader.ts';
import type { Refresher } from '../serving/refresher.ts';
import type { ServingControl } from '../serving/serving.ts';
import type { ObjectSource } from '../../snapshot/objects/object-source.ts';
import type { PublicUrls } from './release/public-urls.ts';

/** What the public routes are made of. */
export interface PublicParts {
  readonly config: ServerConfiguration;
  readonly urls: PublicUrls;
  readonly serving: ServingControl;
  readonly refresher: Refresher;
  readonly objects: ObjectSource;
  readonly client: DaemonClient;
  readonly presence: DaemonPresence;
  /** The state of the service, which every surface shows. */
  readonly service: ReadServiceState;
  readonly pool: HashPool;
  readonly clock: Clock;
  readonly isShuttingDown: () => boolean;
  readonly version: string;
  readonly openApi: Uint8Array;
}
