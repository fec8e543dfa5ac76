import { Counter, Gauge, type Registry } from 'prom-client';
import { PUBLIC_OPERATIONS } from '../../contract/operations/operations-public.ts';
import type { Channel } from '../../domain/release/channel.ts';
import { DAMAGE_KINDS } from '../../domain/verdict/damage-kind.ts';
import { createTallyCounter, type CounterSeries } from '../../platform/metrics/tally.ts';
import { statusesOf } from '../http/declared-statuses.ts';

/** Requests with a wrong token, or with one that has reached a limit, do not come to the byte path. */
const OF_TOKENS: ReadonlySet<number> = new Set([401, 429]);

const STATUSES = statusesOf(PUBLIC_OPERATIONS.getResource.answers).filter((status) => !OF_TOKENS.has(status));

/** Counters of the byte path. */
export interface BytePathMetrics {
  /** Counts an answer; `none` if no release was found. */
  answered(channel: Channel | 'none', status: number): void;
  /** Body bytes that the network has taken. */
  readonly sentBytes: Readonly<Record<Channel, CounterSeries>>;
  readonly ranges: Readonly<Record<'single' | 'multiple', CounterSeries>>;
  readonly verifiedBlocks: CounterSeries;
  readonly verifiedBytes: CounterSeries;
  readonly cacheHits: CounterSeries;
  readonly cacheMisses: CounterSeries;
  readonly damage: Counter<'kind'>;
  readonly stalledClients: Counter;
}

/** Registers the metrics of the byte path. */
export function createBytePathMetrics(
  registry: Registry,
  gauges: {
    readonly inFlightBytes: () => number;
    readonly openDescriptors: () => number;
    readonly cachedBytes: () => number;
  },
): BytePathMetrics {
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('slipway_cdn_in_flight_bytes', 'Bytes read for clients and not yet sent.', gauges.inFlightBytes);
  gauge('slipway_cdn_open_descriptors', 'Open descriptors of objects.', gauges.openDescriptors);
  gauge('slipway_cdn_block_cache_bytes', 'Bytes of verified blocks in memory.', gauges.cachedBytes);
  const tally = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
  ): ((labels: Readonly<Record<Label, string | number>>) => CounterSeries) =>
    createTallyCounter({ name, help, labelNames, registry });
  const single = (name: string, help: string): CounterSeries => tally(name, help, [])({});
  const responses = tally(
    'slipway_cdn_responses_total',
    'Responses of the byte path, by channel (none if no release was found) and status.',
    ['channel', 'status'],
  );
  const answers = { none: new Map(), official: new Map(), localized: new Map() } as const satisfies Record<
    Channel | 'none',
    Map<number, CounterSeries>
  >;
  const sentBytes = tally('slipway_cdn_sent_bytes_total', 'Body bytes sent.', ['channel']);
  const damage = new Counter({
    name: 'slipway_cdn_damage_total',
    help: 'Damage that readers found, by kind: missing or damaged.',
    labelNames: ['kind'],
    registers,
  });
  // increase() does not count the first sample of a series.
  for (const kind of DAMAGE_KINDS) damage.inc({ kind }, 0);
  const ranges = tally('slipway_cdn_ranges_total', 'Partial responses, by kind: single or multiple.', [
    'kind',
  ]);
  const seriesOf = (channel: Channel | 'none', status: number): CounterSeries => {
    const known: Map<number, CounterSeries> = answers[channel];
    let series = known.get(status);
    if (series === undefined) known.set(status, (series = responses({ channel, status })));
    return series;
  };
  for (const channel of ['official', 'localized', 'none'] as const) {
    for (const status of STATUSES) seriesOf(channel, status);
  }
  return {
    answered: (channel, status) => {
      seriesOf(channel, status).add(1);
    },
    sentBytes: {
      official: sentBytes({ channel: 'official' }),
      localized: sentBytes({ channel: 'localized' }),
    },
    ranges: { single: ranges({ kind: 'single' }), multiple: ranges({ kind: 'multiple' }) },
    verifiedBlocks: single('slipway_cdn_verified_blocks_total', 'Blocks hashed before they were sent.'),
    verifiedBytes: single('slipway_cdn_verified_bytes_total', 'Bytes hashed before they were sent.'),
    cacheHits: single('slipway_cdn_block_cache_hits_total', 'Block reads served from memory.'),
    cacheMisses: single('slipway_cdn_block_cache_misses_total', 'Block reads served from the volume.'),
    damage,
    stalledClients: new Counter({
      name: 'slipway_cdn_stalled_clients_total',
      help: 'Clients disconnected because they read too slowly.',
      registers,
    }),
  };
}
