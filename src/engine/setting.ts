/** A value of the configuration that a reload can replace. */
export interface Setting<T> {
  /** The value that applies now. Ask again for each use. */
  current(): T;
}

/** The part of a setting that a module works with. */
export function selectSetting<T, Part>(setting: Setting<T>, select: (value: T) => Part): Setting<Part> {
  return { current: () => select(setting.current()) };
}
