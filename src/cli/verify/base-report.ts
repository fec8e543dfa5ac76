/** How many differences of one release are named. */
export const DIFFERENCES_MAX = 20;

/** A file of a localized release that is not as its base allows. */
export interface BaseDifference {
  readonly destination: string;
  /** `changed_but_not_patched`: another file than that of the base, and the manifest does not mark it as patched. */
  readonly difference: 'changed_but_not_patched' | 'not_in_base' | 'left_out';
}

/** How a localized release compares with the official release that it was made from. */
export interface BaseReport {
  /** `null` when the manifest names none. */
  readonly release_id: string | null;
  /** `not_checked` when it could not be compared with its base; `reason` says why. */
  readonly status: 'ok' | 'differs' | 'not_checked';
  readonly reason: string | null;
  /** Whether the attestation names both manifests; otherwise one of them is only what a release record names. */
  readonly attested: boolean;
  readonly patched: number;
  readonly unpatched: number;
  /** Files that differ from the base and are not marked as patched, that the base does not have, or that are left out. */
  readonly differing: number;
  readonly examples: readonly BaseDifference[];
}

/** The report on a base that could not be compared. */
export function baseNotChecked(releaseId: string | null, reason: string): BaseReport {
  return {
    release_id: releaseId,
    status: 'not_checked',
    reason,
    attested: false,
    patched: 0,
    unpatched: 0,
    differing: 0,
    examples: [],
  };
}

/** The lines that say for people how a localized release compares with its base. */
export function renderBase(name: string, base: BaseReport): string[] {
  const of = `the official release ${base.release_id ?? '(unknown)'}`;
  if (base.status === 'not_checked') {
    return [`${name}: NOT CHECKED against its base: ${base.reason ?? 'unknown reason'}`];
  }
  const files = `${base.patched} patched, ${base.unpatched} as in its base, ${of}`;
  const source = base.attested ? '' : ' (by the release records: the attestation does not name both)';
  const more = base.differing - base.examples.length;
  return [
    `${name}: files: ${files}${source}`,
    ...base.examples.map(({ destination, difference }) => `${name}: ${difference} ${destination}`),
    ...(more > 0 ? [`${name}: and ${more} more that are not as its base allows`] : []),
  ];
}
