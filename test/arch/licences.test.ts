import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { productionPackages } from '../../scripts/sbom/production-packages.ts';
import { billOfMaterials } from '../support/bill-of-materials.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const packages = productionPackages(readFileSync(resolve(ROOT, 'package-lock.json'), 'utf8'));

/** Licences that permit Slipway to ship a package under its own licence, Apache-2.0. */
const ALLOWED: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BlueOak-1.0.0',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
]);

describe('the production packages', () => {
  it('have a licence that is allowed', () => {
    expect(packages.length).toBeGreaterThan(50);
    expect(packages.filter(({ license }) => !ALLOWED.has(license))).toEqual([]);
  });

  it('are all in the bill of materials, with their licences', () => {
    const { bomFormat, components } = billOfMaterials();
    expect(bomFormat).toBe('CycloneDX');
    expect(billOfMaterials()).toEqual(billOfMaterials());
    const named = components.map(
      ({ name, version, licenses }) =>
        `${name}@${version} ${licenses?.[0]?.license?.id ?? licenses?.[0]?.expression ?? ''}`,
    );
    const locked = packages.map(({ name, version, license }) => `${name}@${version} ${license}`);
    expect(locked.filter((text) => !named.includes(text))).toEqual([]);
    expect(named.filter((text) => !locked.includes(text))).toEqual([]);
  });
});
