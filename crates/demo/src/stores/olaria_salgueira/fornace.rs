//! Pieces of a befriended kiln in Faenza, described in Italian.

use crate::line::{LINE, Line, axis, item};

pub(super) const LINES: &[Line] = &[COLAZIONE, TAVOLA, FORNO, CASA];

const COLAZIONE: Line = Line {
    prefix: "FC",
    category: "fornace/colazione",
    brand: "Fornace Gatta",
    about: "Tornito e smaltato a mano nella fornace gemella di Faenza.",
    attributes: &[("materiale", "gres")],
    items: &[
        item(801, "Tazzine da caffè, set di 6", 4800)
            .about("Piccole, spesse e già calde prima dell'espresso.")
            .with(&[("capacità", "70 ml")]),
        item(802, "Tazza da colazione con gatto", 1900)
            .about("Larga abbastanza per inzuppare i biscotti; il gatto guarda altrove.")
            .with(&[("capacità", "400 ml")]),
        item(803, "Zuccheriera con coperchio", 2400)
            .about("Il coperchio ha una tacca per il cucchiaino.")
            .with(&[("capacità", "250 ml")]),
        item(804, "Teiera blu notte", 5600)
            .about("Versa senza gocciolare e tiene caldo il tè per un capitolo intero.")
            .with(&[("capacità", "900 ml")]),
        item(805, "Portauova a forma di gallina, coppia", 1700)
            .about("Due galline pazienti per due uova alla coque.")
            .with(&[("altezza", "9 cm")]),
    ],
    ..LINE
};

const TAVOLA: Line = Line {
    prefix: "FT",
    category: "fornace/tavola",
    brand: "Fornace Gatta",
    about: "Ogni pezzo è un po' diverso dal suo vicino.",
    attributes: &[("materiale", "maiolica")],
    items: &[
        item(851, "Piatti piani rustici, set di 4", 7200)
            .about("Bordi irregolari, smalto color panna.")
            .with(&[("diametro", "27 cm")]),
        item(852, "Piatti fondi per la pasta, set di 4", 7600)
            .about("Profondi quanto serve per una carbonara generosa.")
            .with(&[("diametro", "23 cm")]),
        item(853, "Insalatiera dipinta a mano", 5400)
            .about("Grande, con foglie verdi che non appassiscono.")
            .with(&[("diametro", "30 cm")]),
        item(854, "Ciotole per la zuppa, set di 2", 3800)
            .about("Con due manici, per chi ha freddo alle mani.")
            .with(&[("capacità", "600 ml")]),
        item(855, "Brocca per l'acqua", 3900)
            .about("Un becco preciso e una pancia da un litro.")
            .with(&[("capacità", "1 litro")])
            .colours(&["Bianco", "Salvia"]),
        item(856, "Oliera antigoccia", 2800)
            .about("Per l'olio buono, quello che non si presta ai vicini.")
            .with(&[("capacità", "500 ml")]),
        item(857, "Vassoio ovale con limoni", 4600)
            .about("Dipinto con limoni di Sorrento per servire pesci e dolci.")
            .with(&[("lunghezza", "38 cm")]),
        item(858, "Bicchieri di terracotta, set di 6", 3600)
            .about("Tengono fresco il vino rosso delle osterie.")
            .with(&[("capacità", "200 ml"), ("materiale", "terracotta")]),
    ],
    ..LINE
};

const FORNO: Line = Line {
    prefix: "FF",
    category: "fornace/forno",
    brand: "Fornace Gatta",
    about: "Resiste al forno e alle suocere.",
    attributes: &[("materiale", "terracotta refrattaria")],
    items: &[
        item(901, "Tegame di coccio per il ragù", 4900)
            .about("Cuoce piano, sobbolle per ore, non attacca.")
            .with(&[("diametro", "26 cm")]),
        item(902, "Teglia rettangolare da forno", 4200)
            .about("Per patate, verdure arrosto e pesci interi.")
            .with(&[("lunghezza", "34 cm")])
            .choose(&[axis("lunghezza", &["34 cm", "40 cm"]).costing(&[0, 800])]),
        item(903, "Pirofila per lasagne", 4400)
            .about("Alta otto centimetri: sei strati, nessun compromesso.")
            .with(&[("lunghezza", "32 cm")]),
        item(904, "Pentola per i fagioli", 5800)
            .about("Panciuta, col collo stretto, nata per stare accanto al camino.")
            .with(&[("capacità", "3 litri")]),
        item(905, "Pietra per la pizza", 3900)
            .about("Croccanti i bordi, asciutto il fondo.")
            .with(&[("diametro", "33 cm")]),
    ],
    ..LINE
};

const CASA: Line = Line {
    prefix: "FH",
    category: "fornace/casa",
    brand: "Fornace Gatta",
    about: "Per case con almeno una finestra aperta.",
    attributes: &[("materiale", "maiolica")],
    items: &[
        item(951, "Vaso alto per fiori secchi", 5200)
            .about("Snello, bianco, stabile anche quando passa il gatto.")
            .with(&[("altezza", "36 cm")]),
        item(952, "Portacandele traforato", 2200)
            .about("Disegna stelle sulle pareti.")
            .with(&[("altezza", "12 cm")]),
        item(953, "Mattonelle decorate, set di 6", 4800)
            .about("Fiori blu e gialli per cucine coraggiose.")
            .with(&[("misura", "15 x 15 cm")]),
        item(954, "Fioriera da balcone", 3600)
            .about("Per gerani, erbe aromatiche e qualche sigaretta spenta dal vicino.")
            .with(&[("lunghezza", "50 cm")]),
    ],
    ..LINE
};
