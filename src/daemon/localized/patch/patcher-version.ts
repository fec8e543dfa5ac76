/** Another one for every change of the program that can change the bytes of a patched file: equal patch keys stand for equal bytes. */
export const PATCHER_VERSION = '1';
