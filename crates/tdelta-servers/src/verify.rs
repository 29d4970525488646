//! Whom TLS believes: anyone, whoever an authority vouches for, or that and the host's own name.

use crate::failure::failure;
use crate::options::{Options, Tls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::{ring, verify_tls12_signature, verify_tls13_signature, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;
use tdelta_core::client::ClientError;

/// The TLS configuration of all connections with these options.
pub fn client_config(options: &Options) -> Result<Arc<ClientConfig>, ClientError> {
    if let Some(config) = options.tls_config.get() {
        return Ok(config.clone());
    }
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| failure("tls", error.to_string()))?;
    let config = match options.tls {
        Tls::VerifyFull => builder.with_root_certificates(authorities(options)?).with_no_client_auth(),
        Tls::VerifyCa => {
            let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(authorities(options)?), provider)
                .build()
                .map_err(|error| failure("tls", error.to_string()))?;
            let verifier = Arc::new(AnyName(chain));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
        Tls::Require | Tls::Disable => {
            let verifier = Arc::new(Anyone(provider));
            builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
        }
    };
    Ok(options.tls_config.get_or_init(|| Arc::new(config)).clone())
}

fn authorities(options: &Options) -> Result<RootCertStore, ClientError> {
    let path = options.tls_ca.as_deref().unwrap_or_default();
    let fault = |why: String| failure("tls", format!("tls_ca {path}: {why}"));
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| fault(error.to_string()))? {
        let certificate = certificate.map_err(|error| fault(error.to_string()))?;
        store.add(certificate).map_err(|error| fault(error.to_string()))?;
    }
    match store.is_empty() {
        true => Err(fault("expected certificates in PEM, found none".into())),
        false => Ok(store),
    }
}

/// `require`: whoever holds the key of the certificate shown.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// `verify-ca`: the chain must end at an authority, whatever name the certificate bears.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The name is what webpki looks at last, once the chain has held.
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
