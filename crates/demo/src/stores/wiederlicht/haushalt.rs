//! Lamps and household appliances, described in German.

use crate::line::{LINE, Line, axis, item};

pub(super) const LINES: &[Line] = &[LEUCHTEN, KUECHE, HAUSHALT, ERSATZTEILE];

const LEUCHTEN: Line = Line {
    prefix: "LE",
    category: "leuchten",
    brand: "Funzelmann",
    about: "Neu verkabelt, geprüft und mit frischem Leuchtmittel verschickt.",
    condition: "refurbished",
    items: &[
        item(601, "Schreibtischlampe Knick", 6900)
            .about("Gelenkige Lampe aus Messing mit drei Federn und einem Kopf, der zuhört.")
            .with(&[("Material", "Messing"), ("Leistung", "9 W"), ("Höhe", "48 cm")]),
        item(602, "Stehlampe Storch", 12_900)
            .about("Eine hohe Bogenlampe mit schwerem Marmorfuß für dunkle Leseecken.")
            .with(&[("Material", "Stahl und Marmor"), ("Höhe", "182 cm")]),
        item(603, "Hängeleuchte Glocke", 9400)
            .about("Pendelleuchte aus mundgeblasenem Glas, gerettet aus einem Gasthaus im Harz.")
            .with(&[("Material", "Glas"), ("Durchmesser", "32 cm")])
            .colours(&["Rauchgrau", "Bernstein"]),
        item(604, "Nachttischlampen Mond, 2 Stück", 5400)
            .about("Zwei kleine Lampen, die sich stufenlos dimmen lassen.")
            .with(&[("Material", "Porzellan"), ("Höhe", "22 cm")]),
        item(605, "Werkstattlampe, emailliert", 7900)
            .about("Grüner Fabrikschirm mit weißer Innenseite, umgebaut für sparsame LEDs.")
            .with(&[("Material", "Emaille"), ("Durchmesser", "36 cm")]),
        item(606, "Lampenschirm aus Leinen", 3200)
            .about("Naturfarbener Schirm für Steh- und Tischlampen.")
            .with(&[("Material", "Leinen"), ("Durchmesser", "30 cm")])
            .choose(&[axis("Durchmesser", &["30 cm", "40 cm"]).costing(&[0, 900])]),
        item(607, "LED-Glühbirnen E27, 4 Stück", 1800)
            .about("Warmweiße Leuchtmittel, die aussehen wie früher und zehnmal länger halten.")
            .with(&[("Fassung", "E27"), ("Leistung", "7 W")]),
        item(608, "Taschenlampe mit Kurbel", 2400)
            .about("Braucht keine Batterien, nur einen geduldigen Arm.")
            .with(&[("Gewicht", "210 g")]),
    ],
    ..LINE
};

const KUECHE: Line = Line {
    prefix: "KG",
    category: "haushalt/kueche",
    brand: "Dampfhuber",
    about: "Zerlegt, entkalkt und mit neuen Dichtungen wieder zusammengeschraubt.",
    condition: "refurbished",
    items: &[
        item(651, "Wasserkocher Pfiff", 3900)
            .about("Kocht anderthalb Liter und meldet sich wie eine kleine Dampflok.")
            .with(&[("Material", "Edelstahl"), ("Inhalt", "1,5 Liter")]),
        item(652, "Kaffeemühle mit Kegelmahlwerk", 7400)
            .about("Mahlt frische Bohnen in achtzehn Stufen, von türkisch bis grob.")
            .with(&[("Leistung", "150 W"), ("Gewicht", "2,1 kg")]),
        item(653, "Siebträgermaschine Kleiner Drache", 24_900)
            .about("Espressomaschine mit einem Kessel, einer Dampfdüse und viel Temperament.")
            .with(&[("Druck", "9 bar"), ("Gewicht", "8,4 kg")]),
        item(654, "Toaster für vier Scheiben", 4400)
            .about("Bräunt beide Seiten gleichmäßig; die Krümelschublade ist leer.")
            .with(&[("Leistung", "1400 W")])
            .colours(&["Creme", "Rot"]),
        item(655, "Küchenmaschine Knetfix", 18_900)
            .about("Rührt Teige, schlägt Sahne und knetet Brot, bis jemand den Stecker zieht.")
            .with(&[("Inhalt", "4,5 Liter"), ("Leistung", "800 W")]),
        item(656, "Handrührgerät mit zwei Schneebesen", 2900)
            .about("Fünf Stufen und ein Knopf, der die Besen auswirft.")
            .with(&[("Leistung", "300 W")]),
    ],
    ..LINE
};

const HAUSHALT: Line = Line {
    prefix: "HG",
    category: "haushalt/geraete",
    brand: "Dampfhuber",
    about: "Aus zweiter Hand, mit vollen zwei Jahren Gewährleistung.",
    condition: "refurbished",
    items: &[
        item(701, "Dampfbügeleisen Glatt", 3400)
            .about("Gleitet über Hemden und zischt nur, wenn es soll.")
            .with(&[("Leistung", "2400 W"), ("Gewicht", "1,3 kg")]),
        item(702, "Staubsauger Leisetreter, beutellos", 14_900)
            .about("Schnurlos und so leise, dass die Katze liegen bleibt.")
            .with(&[("Laufzeit", "45 Minuten"), ("Gewicht", "2,6 kg")]),
        item(703, "Nähmaschine Anneliese", 16_900)
            .about("Mechanisch, zwölf Stiche, näht auch durch Jeans und Markisen.")
            .with(&[("Gewicht", "9,8 kg")]),
        item(704, "Tischventilator Brise", 4200)
            .about("Drei Geschwindigkeiten, keine davon weht die Post vom Tisch.")
            .with(&[("Durchmesser", "30 cm"), ("Leistung", "35 W")]),
        item(705, "Röhrenradio Großmutter", 11_900)
            .about("Ein Radio mit magischem Auge, nachgerüstet mit Bluetooth.")
            .with(&[("Material", "Nussbaum"), ("Gewicht", "7,2 kg")]),
    ],
    ..LINE
};

const ERSATZTEILE: Line = Line {
    prefix: "ET",
    category: "haushalt/ersatzteile",
    brand: "Wiederlicht",
    about: "Neu, damit Altes bleiben darf.",
    items: &[
        item(751, "Ersatzakku für schnurlose Staubsauger", 4900)
            .about("Passt in den Leisetreter und in seine Verwandten.")
            .with(&[("Kapazität", "2500 mAh")]),
        item(752, "Entkalker für Kaffeemaschinen", 1200)
            .about("Flüssig, auf Zitronensäure gebaut, reicht für fünf Anwendungen.")
            .with(&[("Inhalt", "500 ml")]),
        item(753, "Schraubendreher, 12-teiliger Satz", 2600)
            .about("Schlitz, Kreuz und Stern in einer Rolle aus Filz.")
            .with(&[("Material", "Chrom-Vanadium-Stahl")]),
        item(754, "Ohrpolster für Kopfhörer, 1 Paar", 1600)
            .about("Weiche Polster aus Kunstleder für Kopfhörer, die viel gehört haben.")
            .with(&[("Durchmesser", "80 mm")]),
    ],
    ..LINE
};
