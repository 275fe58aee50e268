// X.509 certificates for the double of PayPal: an authority, and certificates for signing that it issues. Node can read certificates but
// not create them, so that the little DER that is needed is written here (RFC 5280).

import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

const tagged = (tag, ...parts) => {
  const content = Buffer.concat(parts);
  const length = content.length < 128 ? [content.length] : content.length < 256 ? [0x81, content.length] : [0x82, content.length >> 8, content.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const sequence = (...parts) => tagged(0x30, ...parts);
const set = (...parts) => tagged(0x31, ...parts);
const octets = (...parts) => tagged(0x04, ...parts);
const bits = (content) => tagged(0x03, Buffer.from([0]), content);
const integer = (bytes) => tagged(0x02, Buffer.from(bytes));
const boolean = (value) => tagged(0x01, Buffer.from([value ? 255 : 0]));
const utf8 = (text) => tagged(0x0c, Buffer.from(text));
const oid = (text) => {
  const [first, second, ...rest] = text.split(".").map(Number);
  const base128 = (number) => {
    const digits = [number & 127];
    for (let left = number >> 7; left > 0; left >>= 7) digits.unshift((left & 127) | 128);
    return digits;
  };
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
};
const time = (date) => tagged(0x18, Buffer.from(`${date.toISOString().replace(/[-:T]|\.\d+/g, "")}`));

const SHA256_WITH_RSA = sequence(oid("1.2.840.113549.1.1.11"), tagged(0x05));
const name = (commonName) => sequence(set(sequence(oid("2.5.4.3"), utf8(commonName))));
const extension = (id, isCritical, value) => sequence(oid(id), ...(isCritical ? [boolean(true)] : []), octets(value));

const DAY = 24 * 3600 * 1000;

/** Returns a certificate in PEM format. */
function certificate({ subject, issuer, publicKey, signer, extensions, notBefore, notAfter }) {
  const serial = randomBytes(8);
  serial[0] &= 127;
  serial[0] |= 1;
  const content = sequence(
    tagged(0xa0, integer([2])),
    integer(serial),
    SHA256_WITH_RSA,
    name(issuer),
    sequence(time(notBefore), time(notAfter)),
    name(subject),
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions)),
  );
  const der = sequence(content, SHA256_WITH_RSA, bits(sign("sha256", content, signer)));
  const lines = der.toString("base64").match(/.{1,64}/g).join("\n");
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** Creates an authority. `issue` returns the key and the certificate of a name. */
export function authority(commonName) {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const constraints = extension("2.5.29.19", true, sequence(boolean(true)));
  const usage = extension("2.5.29.15", true, tagged(0x03, Buffer.from([1, 0x06])));
  const validity = { notBefore: new Date(Date.now() - DAY), notAfter: new Date(Date.now() + 365 * DAY) };
  const pem = certificate({ subject: commonName, issuer: commonName, publicKey, signer: privateKey, extensions: [constraints, usage], ...validity });
  return { pem, issue: (subject, options) => issue({ issuer: commonName, signer: privateKey }, subject, options) };
}

function issue({ issuer, signer }, subject, { days = 90 } = {}) {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const extensions = [
    extension("2.5.29.17", false, sequence(tagged(0x82, Buffer.from(subject)))),
    extension("2.5.29.15", true, tagged(0x03, Buffer.from([5, 0xa0]))),
    extension("2.5.29.37", false, sequence(oid("1.3.6.1.5.5.7.3.1"), oid("1.3.6.1.5.5.7.3.2"))),
  ];
  const validity = { notBefore: new Date(Date.now() - 100 * DAY), notAfter: new Date(Date.now() + days * DAY) };
  return { key: privateKey, pem: certificate({ subject, issuer, publicKey, signer, extensions, ...validity }) };
}
