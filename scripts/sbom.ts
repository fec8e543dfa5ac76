/**
 * Prints the bill of materials of the production packages (CycloneDX, JSON), from the lock file in the current folder.
 * `--installed`: only of those that are in node_modules.
 *
 *   node scripts/sbom.ts [--installed]
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { argv } from 'node:process';
import { productionPackages } from './sbom/production-packages.ts';

interface BillOfMaterials {
  readonly components: ReadonlyArray<{
    readonly name: string;
    readonly version: string;
    readonly 'bom-ref': string;
  }>;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn: readonly string[] }>;
}

// With --omit=dev, npm also leaves out packages that both production and development need.
const run = spawnSync(
  'npm',
  ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'],
  {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  },
);
if (run.status !== 0) throw new Error(`npm sbom failed: ${run.error?.message ?? run.stderr}`);
const bill = JSON.parse(run.stdout) as BillOfMaterials;
const lockFile = readFileSync('package-lock.json', 'utf8');
const packages = argv.includes('--installed')
  ? readFileSync('node_modules/.package-lock.json', 'utf8')
  : lockFile;
const wanted = new Set(productionPackages(packages).map(({ name, version }) => `${name}@${version}`));
// npm gives a package that is installed under another name that name, and refers to it by its own.
const components = bill.components
  .filter(({ 'bom-ref': reference }) => wanted.has(reference))
  .map((component) => ({ ...component, name: component['bom-ref'].replace(/@[^@]*$/, '') }));
const known = new Set(components.map((component) => component['bom-ref']));
const roots = new Set(bill.dependencies.map(({ ref }) => ref));
for (const { 'bom-ref': reference } of bill.components) roots.delete(reference);
const dependencies = bill.dependencies
  .filter(({ ref }) => known.has(ref) || roots.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => known.has(other)) }));
// The same packages give the same document, so that the image can be built again.
const digest = createHash('sha256').update(packages).digest('hex');
const serialNumber = `urn:uuid:${digest.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')}`;
const { timestamp: _timestamp, ...metadata } = bill.metadata;
console.log(JSON.stringify({ ...bill, serialNumber, metadata, components, dependencies }, null, 2));
