/** Base64 of all tokens, in the order of their ranks: for each the number of its bytes in one byte, then the bytes. */
export const tokens: string;
