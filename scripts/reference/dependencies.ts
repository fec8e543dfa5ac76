import { productionPackages } from '../sbom/production-packages.ts';
import { table } from './markdown.ts';

/** Renders the page of the production packages and their licences. */
export function renderDependencies(lockFile: string): string {
  const rows = productionPackages(lockFile).map(({ name, version, license }) => [name, version, license]);
  return `# Dependencies

The npm packages that Slipway runs with, from \`package-lock.json\`. An installation holds those of its platform.
\`make sbom\` prints the same as a bill of materials in the CycloneDX format. The image holds only the packages, and of them the
files, that a program loads; \`/app/sbom.cdx.json\` lists them.
\`test/arch/licences.test.ts\` lists the licences that are allowed.

${table(['Package', 'Version', 'Licence'], rows)}
`;
}
