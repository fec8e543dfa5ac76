interface LockedPackage {
  /** Of a package that is installed under another name. */
  readonly name?: string;
  readonly version?: string;
  readonly license?: string;
  readonly dev?: boolean;
}

/** One package that a production installation may hold. */
export interface ProductionPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

/** The production packages of a lock file, each version once, sorted by name and version. */
export function productionPackages(lockFile: string): readonly ProductionPackage[] {
  const { packages } = JSON.parse(lockFile) as { packages: Readonly<Record<string, LockedPackage>> };
  const found = new Map<string, ProductionPackage>();
  for (const [path, locked] of Object.entries(packages)) {
    const { version = '', license = 'not declared', dev } = locked;
    const name = locked.name ?? path.replace(/^.*node_modules\//, '');
    if (path !== '' && dev !== true) found.set(`${name}@${version}`, { name, version, license });
  }
  return [...found].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, each]) => each);
}
