import { Counter, Gauge, type Registry } from 'prom-client';

/** What the byte path counts. */
export interface CdnMetrics {
  readonly responses: Counter<'channel' | 'status'>;
  readonly sentBytes: Counter<'channel'>;
  readonly ranges: Counter<'kind'>;
  readonly verifiedBlocks: Counter;
  readonly verifiedBytes: Counter;
  readonly cacheHits: Counter;
  readonly cacheMisses: Counter;
  readonly damage: Counter<'kind'>;
  readonly stalledClients: Counter;
}

/** Figures that are read when somebody asks for them. */
export interface CdnGauges {
  readonly inFlightBytes: () => number;
  readonly openDescriptors: () => number;
  readonly cachedBytes: () => number;
}

/** Registers the metrics of the byte path. */
export function createCdnMetrics(registry: Registry, gauges: CdnGauges): CdnMetrics {
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
  gauge(
    'slipway_cdn_in_flight_bytes',
    'Bytes read for clients and not yet taken by the network.',
    gauges.inFlightBytes,
  );
  gauge('slipway_cdn_open_descriptors', 'Open descriptors of objects.', gauges.openDescriptors);
  gauge('slipway_cdn_block_cache_bytes', 'Bytes of verified blocks in memory.', gauges.cachedBytes);
  const counter = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[] = [],
  ): Counter<Label> => new Counter({ name, help, labelNames, registers });
  return {
    responses: counter(
      'slipway_cdn_responses_total',
      'Answers on the byte path, by channel (none before a release is found) and status.',
      ['channel', 'status'],
    ),
    sentBytes: counter('slipway_cdn_sent_bytes_total', 'Body bytes taken by the network.', ['channel']),
    ranges: counter('slipway_cdn_ranges_total', 'Partial answers, by kind: single or multiple.', ['kind']),
    verifiedBlocks: counter('slipway_cdn_verified_blocks_total', 'Blocks hashed before they were sent.'),
    verifiedBytes: counter('slipway_cdn_verified_bytes_total', 'Bytes hashed before they were sent.'),
    cacheHits: counter('slipway_cdn_block_cache_hits_total', 'Block reads answered from memory.'),
    cacheMisses: counter('slipway_cdn_block_cache_misses_total', 'Block reads that went to the volume.'),
    damage: counter('slipway_cdn_damage_total', 'Damage that readers found, by kind: missing or damaged.', [
      'kind',
    ]),
    stalledClients: counter(
      'slipway_cdn_stalled_clients_total',
      'Clients cut off because they took too little.',
    ),
  };
}
