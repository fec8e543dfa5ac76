import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import process from 'node:process';

/** The parts of a CycloneDX document that the tests read. */
export interface BillOfMaterials {
  readonly bomFormat: string;
  readonly components: ReadonlyArray<{
    readonly name: string;
    readonly version: string;
    readonly licenses?: ReadonlyArray<{
      readonly license?: { readonly id?: string };
      readonly expression?: string;
    }>;
  }>;
}

/** The bill of materials that the image holds, made from the lock file. */
export function billOfMaterials(): BillOfMaterials {
  const run = spawnSync(process.execPath, ['scripts/sbom.ts'], {
    cwd: resolve(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  if (run.status !== 0) throw new Error(`scripts/sbom.ts failed:\n${run.stderr}`);
  return JSON.parse(run.stdout) as BillOfMaterials;
}
