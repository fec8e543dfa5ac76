/** Runs sections one after the other, in the order they were asked for. */
export type Serial = <T>(section: () => Promise<T>) => Promise<T>;

/** Creates a queue of sections; a section that fails does not hold up those behind it. */
export function createSerial(): Serial {
  let last: Promise<unknown> = Promise.resolve();
  return (section) => {
    const run = last.then(section, section);
    last = run.catch(() => undefined);
    return run;
  };
}
