/** Runs sections one after another, in the order of the calls. */
export type Serial = <T>(section: () => Promise<T>) => Promise<T>;

/** Creates a queue of sections. A section that fails does not stop the later ones. */
export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return (section) => {
    const run = last.then(section, section);
    last = run.catch(() => undefined);
    return run;
  };
}
