const SIZE_UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const;

/**
 * A size as launchers read it, such as `1.2GB`. They read the units as powers of 1024: 1 GB is 1024³ bytes. The number is
 * rounded up to a tenth, so that the space named is always enough, and is below 1024 in the unit named.
 */
export function renderSize(bytes: number): string {
  for (const [power, unit] of SIZE_UNITS.entries()) {
    const value = bytes / 1024 ** power;
    const rounded = power === 0 ? value : Math.ceil(value * 10) / 10;
    if (rounded < 1024 || power === SIZE_UNITS.length - 1) return `${rounded}${unit}`;
  }
  throw new Error('a size has one of the units');
}
