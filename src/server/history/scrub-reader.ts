import type { AdminIndex } from '../../contract/schemas/answers/admin.ts';
import type { Registry } from '../../platform/metrics/metrics.ts';

/** How far the scrub of a server is. */
export type ScrubPosition = NonNullable<AdminIndex['scrub']>;

/** Reads the scrub of this process from its metrics, so that both show the same numbers; `null` while it runs no scrub. */
export async function readScrub(registry: Registry): Promise<ScrubPosition | null> {
  const valuesOf = async (name: string): Promise<readonly number[]> =>
    ((await registry.getSingleMetric(name)?.get())?.values ?? []).map(({ value }) => value);
  const [pass] = await valuesOf('slipway_scrub_pass');
  const [share = 0] = await valuesOf('slipway_scrub_pass_ratio');
  const [completedAt = 0] = await valuesOf('slipway_scrub_completed_timestamp_seconds');
  const [damageFound = 0] = await valuesOf('slipway_scrub_damaged_objects');
  const [ofPass = 0] = await valuesOf('slipway_scrub_pass_damaged_objects');
  // The gauges are 0 until the scrub has started.
  if (pass === undefined || pass === 0) return null;
  return {
    pass,
    share,
    damage_found: damageFound,
    damage_in_pass: ofPass,
    completed_at: completedAt === 0 ? null : completedAt,
  };
}
